import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createClient, TapchipError } from '../../dist/client.js'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { inBrowser } from '../support/browser.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { png } from '../support/poap/image-bytes.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const built = new URL('../../dist/client.js', import.meta.url)

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: phygitalSeed, chain: true })
})
afterAll(() => daemon.stop())

const refOf = async (uid: string, counter: number): Promise<string> => {
  const page = await (await fetch(daemon.url + tapPath(tap(derived, { uid }, counter)))).text()
  return /data-ref="([^"]+)"/.exec(page)?.[1] ?? ''
}

const failureOf = async (call: Promise<unknown>): Promise<TapchipError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof TapchipError) return error
  throw new Error(`not a TapchipError: ${error}`)
}

/** A server of which the test says what it answers, one after the other. */
async function answering(...answers: ((request: IncomingMessage, answer: ServerResponse) => void)[]) {
  const seen: IncomingMessage[] = []
  const server = createServer((request, answer) => {
    seen.push(request)
    request.resume()
    request.on('end', () => (answers[seen.length - 1] ?? answers.at(-1))?.(request, answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const says = (status: number, body: unknown, headers: Record<string, string> = {}) => {
  return (_request: IncomingMessage, answer: ServerResponse) => {
    answer.writeHead(status, { 'content-type': 'application/json', ...headers })
    answer.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}
const refuses = (statusCode: number, code: string, retryAfter = '0') =>
  says(statusCode, { statusCode, code, message: 'No.', requestId: 'r1' }, { 'retry-after': retryAfter })
const cuts = (request: IncomingMessage) => request.socket.destroy()

describe('the operations', () => {
  test('are the public part of the endpoint table, by their ids', () => {
    const expected = Object.values(endpoints).flatMap(({ id, part }) => (part === 'admin' ? [] : [id]))
    expect(Object.keys(createClient({ baseUrl: daemon.url })).sort()).toEqual(expected.sort())
    expect(readFileSync(built).length).toBeLessThan(14_000)
  })

  test('take a tap to a claimed token, and say why one is refused', async () => {
    const { getRef, transferTokenWithCode, getOtp } = createClient({ baseUrl: `${daemon.url}/` })
    const id = await refOf(chips.jacket(1), 1)
    const ref = await getRef({ id, includeOwner: true })
    expect(ref).toMatchObject({ isValidRef: true, linkedToken: { tokenId: '1' } })
    expect((await getRef({ id })).isValidRef).toBe(false)
    const code = ref.linkedToken?.otp ?? ''
    const idempotencyKey = 'claim-1'
    const first = await transferTokenWithCode({ code, recipient: bob }, { idempotencyKey })
    expect(first.initialTxHash).toMatch(/^0x/)
    expect(await transferTokenWithCode({ code, recipient: bob }, { idempotencyKey })).toEqual(first)
    expect((await getOtp({ id: code })).isExpired).toBe(true)
    const refused = await failureOf(transferTokenWithCode({ code, recipient: bob }))
    expect(refused).toMatchObject({ name: 'TapchipError', status: 401, code: 'otp_used' })
    expect(refused.requestId).not.toBe('')
  })

  test('of a team need its key, and cover forms, path parameters, and lines', async () => {
    const stranger = createClient({ baseUrl: daemon.url })
    expect(await failureOf(stranger.listChipGroups())).toMatchObject({ status: 401, code: 'api_key_missing' })
    // As read from a file.
    const team = createClient({ baseUrl: daemon.url, apiKey: `${acmeKey}\n` })
    expect(await team.listChipGroups()).toMatchObject([{ name: 'Jackets' }])
    expect(await team.getItem({ itemId: 'jacket' })).toMatchObject({ name: 'Jacket' })
    const image = new Blob([new Uint8Array(png())])
    const event = {
      name: 'Opening',
      description: '',
      city: 'Berlin',
      country: 'Germany',
      startDate: '2026-06-01',
      endDate: '2026-06-02',
      expiryDate: '2026-07-01',
      requestedCodes: 5,
      virtualEvent: false,
    }
    const made = await team.createBadgeEvent({ ...event, image, once: true })
    expect(await team.createBadgeEvent({ ...event, image, once: true })).toMatchObject({
      id: made.id,
      unchanged: true,
    })
    const metadata = { name: 'No. 2' }
    const token = (await team.listItemChips({ itemId: 'jacket' }))[0]
    expect(token?.uid).toMatch(/^\d+$/)
    const uid = BigInt(`0x${chips.jacket(2)}`).toString()
    const rows = []
    const lines = [
      { uid, redirectUrl: 'https://acme.example/2' },
      { uid: '7', redirectUrl: null },
    ]
    for await (const row of team.editChipsByLine({ lines })) rows.push(row)
    expect(rows).toMatchObject([
      { row: 1, status: 'changed' },
      { row: 2, status: 'failed' },
    ])
    const found = await team.findChip(tap(derived, { uid: chips.jacket(3) }, 1))
    const invalid = team.updateTokenMetadata({ ...(found.linkedToken ?? none), metadata })
    expect((await failureOf(invalid)).errors).toMatchObject({ 'metadata.image': 'Required' })
  })
})
const none = { contractAddress: '', chainId: 0, tokenId: '' }

describe('a request is sent again', () => {
  const soon = { timeoutMs: 20_000 }

  test('where that is safe: a GET, or with an Idempotency-Key, which stays the same', async () => {
    const server = await answering(cuts, refuses(503, 'chain_unavailable'), says(200, [1]))
    expect(await createClient({ baseUrl: server.url }).listChipGroups({}, soon)).toEqual([1])

    const minting = await answering(
      cuts,
      refuses(503, 'store_unavailable'),
      says(502, 'Bad Gateway'),
      says(200, {}),
    )
    await createClient({ baseUrl: minting.url }).mintBadge({ code: 'c', recipient: 'a', poapEventId: 1 })
    const keys = minting.seen.map(({ headers }) => headers['idempotency-key'])
    expect([keys.length, new Set(keys).size]).toEqual([4, 1])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
  })

  test('but not where it may have used something up, or changed something', async () => {
    const server = await answering(cuts)
    const client = createClient({ baseUrl: server.url })
    const uncertain = [
      client.getRef({ id: 'r' }),
      client.findChip({ e: '1' }),
      client.deleteOtp({ id: 'o' }),
      client.editChips({ tagUIDs: ['1'], updates: { redirectUrl: null } }),
    ]
    for (const failure of await Promise.all(uncertain.map(failureOf)))
      expect(failure).toMatchObject({ code: 'unreachable', status: 0 })
    expect(server.seen.length).toBe(uncertain.length)
    const used = await answering(refuses(503, 'outcome_unknown'))
    const unknown = await failureOf(createClient({ baseUrl: used.url }).getRef({ id: 'r' }))
    expect([unknown, used.seen.length]).toEqual([expect.objectContaining({ code: 'outcome_unknown' }), 1])
    const gone = await answering(refuses(503, 'chain_unavailable'))
    const edit = createClient({ baseUrl: gone.url }).editChips({
      tagUIDs: [],
      updates: { redirectUrl: null },
    })
    expect((await failureOf(edit)).code).toBe('chain_unavailable')
    expect(gone.seen.length).toBe(1)
  })

  test('after as long as Retry-After asks for, whatever it was, where a limit refused it', async () => {
    const server = await answering(refuses(429, 'rate_limited', '1'), says(200, { success: true }))
    const began = performance.now()
    await createClient({ baseUrl: server.url }).deleteOtp({ id: 'o' })
    expect(performance.now() - began).toBeGreaterThan(990)
    const long = await answering(refuses(429, 'transaction_budget_spent', '3600'))
    expect(await failureOf(createClient({ baseUrl: long.url }).getTeam())).toMatchObject({ retryAfter: 3600 })
    expect(long.seen.length).toBe(1)
  })

  test('as often as is allowed, and not when the caller has gone', async () => {
    const server = await answering(refuses(503, 'chain_unavailable', '5'))
    expect((await failureOf(createClient({ baseUrl: server.url, retries: 0 }).getTeam())).status).toBe(503)
    expect(server.seen.length).toBe(1)
    const gone = new AbortController()
    const call = createClient({ baseUrl: server.url }).getTeam({}, { signal: gone.signal })
    await expect.poll(() => server.seen.length).toBe(2)
    gone.abort(new Error('closed the page'))
    await expect(call).rejects.toThrow('closed the page')
    await expect(createClient({ baseUrl: server.url }).getTeam({}, { signal: gone.signal })).rejects.toThrow(
      'closed',
    )
    expect(server.seen.length).toBe(2)
  })
})

describe('what goes wrong is a TapchipError', () => {
  test('before anything is sent, without the secret in it', async () => {
    expect(() => createClient({ baseUrl: daemon.url, apiKey: 'svc_one\nsvc_two' })).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.not.stringContaining('svc_') }),
    )
    for (const baseUrl of [
      'taps.example',
      'ftp://taps.example',
      'https://a:b@taps.example',
      'https://t.example/?a',
      '',
    ])
      expect(() => createClient({ baseUrl }), baseUrl).toThrow(TapchipError)
    const server = await answering(says(200, {}))
    const client = createClient({ baseUrl: server.url })
    const calls = [
      client.getRef({ id: '\ud800' }),
      ...['..', '.', ''].map((id) => client.getRef({ id })),
      client.listChips({ name: '\udfff' }),
      client.editChips({ tagUIDs: [1n as unknown as string], updates: { redirectUrl: null } }),
      client.transferTokenWithCode({ code: 'a b\nc', recipient: bob }),
      client.transferToken({ ...none, recipient: bob }, { idempotencyKey: 'é' }),
    ]
    for (const { code } of await Promise.all(calls.map(failureOf))) expect(code).toBe('invalid_argument')
    expect(server.seen).toEqual([])
  })

  test('a path before the daemon stays, whatever slashes it ends with', async () => {
    const server = await answering(says(200, {}))
    await createClient({ baseUrl: `${server.url}/taps//` }).getRef({ id: 'a/b?c', includeOwner: true })
    expect(server.seen[0]?.url).toBe('/taps/refs/a%2Fb%3Fc?includeOwner=true')
  })

  test('when no answer comes in time, when it stops halfway, and when it is not ours', async () => {
    const server = await answering(
      () => undefined,
      (_request, answer) => {
        answer.writeHead(200, { 'content-length': '100' })
        answer.write('{')
      },
      says(200, '<html>'),
      says(404, '<html>'),
      says(302, '', { location: 'https://elsewhere.example' }),
    )
    const codeWithin = async (timeoutMs: number) =>
      (await failureOf(createClient({ baseUrl: server.url, timeoutMs, retries: 0 }).getTeam())).code
    expect([await codeWithin(300), await codeWithin(300)]).toEqual(['timeout', 'timeout'])
    for (let n = 0; n < 3; n++) expect(await codeWithin(30_000)).toBe('not_tapchip')
  })

  test('in the middle of lines, after those that came', async () => {
    const failed = JSON.stringify({ statusCode: 503, code: 'store_full', message: 'Full.', requestId: 'r' })
    const server = await answering(says(200, `{"row":1}\n{"row":2}\n${failed}\n`))
    const rows: number[] = []
    const reading = async () => {
      const lines = createClient({ baseUrl: server.url }).transferTokensByLine({ lines: [{}, {}, {}] })
      for await (const { row } of lines) rows.push(row)
    }
    expect(await failureOf(reading())).toMatchObject({ code: 'store_full', status: 503 })
    expect(rows).toEqual([1, 2])
  })
})

test('works in a page of another origin', async () => {
  const id = await refOf(chips.jacket(4), 1)
  const outcome = await inBrowser(`
    const { createClient, TapchipError } = await import('data:text/javascript;base64,${readFileSync(built).toString('base64')}')
    const client = createClient({ baseUrl: '${daemon.url}' })
    const ref = await client.getRef({ id: '${id}' })
    const moved = await client.transferTokenWithCode({ code: ref.linkedToken.otp, recipient: '${bob}' })
    const refused = await client.transferTokenWithCode({ code: ref.linkedToken.otp, recipient: '${bob}' }).catch((error) => error)
    const unreachable = await createClient({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).getTeam().catch((error) => error)
    const relative = await createClient({ baseUrl: '/taps' }).getTeam().catch((error) => error)
    return {
      ref: ref.isValidRef,
      hash: moved.initialTxHash.slice(0, 2),
      refused: [refused instanceof TapchipError, refused.code, refused.status],
      unreachable: unreachable.code,
      relative: relative.code,
    }
  `)
  expect(outcome).toEqual({
    ref: true,
    hash: '0x',
    refused: [true, 'otp_used', 401],
    unreachable: 'unreachable',
    relative: 'not_tapchip',
  })
})
