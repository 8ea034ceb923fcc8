import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { addressOf } from '../../src/cli/client/address.ts'
import { createClient } from '../../src/cli/client/client.ts'
import { ApiError, DaemonUnreachable } from '../../src/cli/client/errors.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server that answers as told, a client of it, and how long the client waited between attempts. */
const pair = async (
  answer: (request: IncomingMessage, response: ServerResponse, attempt: number) => void,
  timeoutMs = 30_000,
) => {
  let attempt = 0
  const server = createServer((request, response) => answer(request, response, ++attempt))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const waits: number[] = []
  const told: number[] = []
  const client = createClient({
    url: `http://127.0.0.1:${port}`,
    apiKey: 'svc_x',
    adminToken: () => 'adm_x',
    timeoutMs,
    sleep: async (ms) => void waits.push(ms),
    onWait: (seconds) => void told.push(seconds),
    random: () => 0.5,
  })
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
    client.close,
  )
  return { client, waits, told, attempts: () => attempt }
}

const refuse = (
  response: ServerResponse,
  status: number,
  headers: Record<string, string> = {},
  code = 'some_code',
) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(
    JSON.stringify({
      statusCode: status,
      error: 'x',
      message: 'Because.',
      code,
      requestId: 'r1',
    }),
  )
}
const ok = (response: ServerResponse, body: unknown) => response.end(JSON.stringify(body))

describe('addresses', () => {
  test('parameters are filled in, encoded, and never walk up', () => {
    expect(addressOf('GET /refs/:id', { params: { id: 'a/b c' } }, 'badge')).toEqual({
      method: 'GET',
      path: '/refs/a%2Fb%20c',
    })
    expect(addressOf('GET /refs/:id', { params: { id: '..' } }, 'badge').path).toBe('/refs/%2E%2E')
    expect(addressOf('GET /chips', { query: { name: 'a&b', chipGroupId: undefined } }, 'badge').path).toBe(
      '/chips?name=a%26b',
    )
    expect(addressOf('POST /badge-events/mint', {}, 'stamp').path).toBe('/stamp-events/mint')
  })
})

describe('headers', () => {
  test('the API key goes everywhere, the admin token under /admin alone', async () => {
    const seen: unknown[] = []
    const { client } = await pair((request, response) => {
      seen.push([request.headers['x-svc-api-key'], request.headers.authorization])
      ok(response, [])
    })
    await client.call('GET /chip-groups')
    await client.call('GET /admin/teams')
    expect(seen).toEqual([
      ['svc_x', undefined],
      ['svc_x', 'Bearer adm_x'],
    ])
  })
})

describe('errors', () => {
  test('an answer that is one is an ApiError with all it says', async () => {
    const { client } = await pair((_, response) => refuse(response, 404))
    const error = await client.call('GET /otps/:id', { params: { id: 'x' } }).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ statusCode: 404, code: 'some_code', message: 'Because.', requestId: 'r1' })
  })

  test('a server that is none of ours is recognised', async () => {
    const { client } = await pair((_, response) => response.end('<html>'))
    await expect(client.call('GET /chip-groups')).rejects.toThrow(/is not a Tapchip daemon/)
  })

  test('no answer in time is a daemon out of reach', async () => {
    const { client } = await pair(() => undefined, 200)
    await expect(client.call('POST /admin/teams', { body: { name: 'x' } })).rejects.toThrow(
      /no answer in time/,
    )
  })
})

describe('another try', () => {
  test('comes after 503 and 429, when the daemon says', async () => {
    const { client, waits, attempts } = await pair((_, response, attempt) =>
      attempt < 3 ? refuse(response, attempt === 1 ? 503 : 429, { 'retry-after': '2' }) : ok(response, []),
    )
    expect(await client.call('GET /chip-groups')).toEqual([])
    expect([attempts(), waits]).toEqual([3, [2050, 2050]])
    const longest = await pair((_, response, attempt) =>
      attempt < 2 ? refuse(response, 429, { 'retry-after': '10' }) : ok(response, []),
    )
    expect(await longest.client.call('GET /chip-groups')).toEqual([])
    expect([longest.waits, longest.told]).toEqual([[10_050], [10]])
  })

  test('comes after 429 for any request, since it did nothing, and for a stream whose content is there again', async () => {
    const bodies: string[] = []
    const { client, waits, attempts } = await pair(async (request, response, attempt) => {
      let body = ''
      for await (const chunk of request) body += String(chunk)
      bodies.push(body)
      if (attempt % 2 === 1) refuse(response, 429, { 'retry-after': '1' })
      else ok(response, { row: 1 })
    })
    await client.call('POST /admin/teams', { body: { name: 'x' } })
    const rows = { [Symbol.iterator]: () => ['{"row":1}\n'].values() }
    const send = async (content: Iterable<string>) => {
      const lines = []
      const upload = { contentType: 'application/x-ndjson', content }
      for await (const line of client.stream('POST /chips/batch', { query: {}, upload })) lines.push(line)
      return lines
    }
    expect(await send(rows)).toEqual([{ row: 1 }])
    expect(bodies).toEqual(['{"name":"x"}', '{"name":"x"}', '{"row":1}\n', '{"row":1}\n'])
    expect(waits).toEqual([1050, 1050])
    await expect(send(rows[Symbol.iterator]())).rejects.toMatchObject({ statusCode: 429 })
    expect(attempts()).toBe(5)
  })

  test('comes after a cut connection, with backoff, and not for ever', async () => {
    const { client, waits, attempts } = await pair((request) => request.socket.destroy())
    await expect(client.call('GET /chip-groups')).rejects.toBeInstanceOf(DaemonUnreachable)
    expect(attempts()).toBe(4)
    expect(waits).toEqual([...waits].sort((x, y) => x - y))
  })

  test('never comes for what is no GET, for a tap or a ref, or for a wait too long', async () => {
    const cut = await pair((request) => request.socket.destroy())
    await expect(cut.client.call('GET /refs/:id', { params: { id: 'x' } })).rejects.toThrow()
    await expect(cut.client.call('GET /chips/find', { query: { e: '1' } })).rejects.toThrow()
    await expect(cut.client.call('POST /admin/teams', { body: { name: 'x' } })).rejects.toThrow()
    expect(cut.attempts()).toBe(3)
    const busy = await pair((_, response) => refuse(response, 503, { 'retry-after': '3600' }))
    await expect(busy.client.call('GET /chip-groups')).rejects.toMatchObject({ retryAfter: 3600 })
    expect(busy.attempts()).toBe(1)
  })
})

describe('an outcome that is unknown', () => {
  const unknown = (response: ServerResponse) =>
    refuse(response, 503, { 'retry-after': '5' }, 'outcome_unknown')

  test('is not asked for again where the request works only once', async () => {
    const { client, attempts } = await pair((_, response) => unknown(response))
    const once = [
      client.call('GET /refs/:id', { params: { id: 'x' } }),
      client.call('GET /chips/find', { query: { e: '1' } }),
      client.call('POST /admin/teams', { body: { name: 'x' } }),
    ]
    for (const call of once) await expect(call).rejects.toMatchObject({ code: 'outcome_unknown' })
    expect(attempts()).toBe(once.length)
  })

  test('is asked for again with the same Idempotency-Key, and where nothing is used up', async () => {
    const keys: unknown[] = []
    const { client, attempts } = await pair((request, response, attempt) => {
      keys.push(request.headers['idempotency-key'])
      if (attempt % 2 === 1) unknown(response)
      else ok(response, [])
    })
    const body = { name: 'Guests', symbol: 'G', chainId: 31337 }
    await client.call('POST /events/contracts', { body, idempotencyKey: 'one' })
    await client.call('GET /chip-groups')
    expect([attempts(), keys]).toEqual([4, ['one', 'one', undefined, undefined]])
  })
})

describe('streams', () => {
  test('send and receive at once, a line at a time, empty lines left out', async () => {
    const { client } = await pair((request, response) => {
      let row = 0
      request.on('data', () => response.write(`{"row":${++row},"uid":"1","status":"changed"}\n\n`))
      request.on('end', () => response.end())
    })
    async function* content() {
      yield 'one\n'
      await answered
      yield 'two\n'
    }
    let answer: () => void = () => undefined
    const answered = new Promise<void>((resolve) => {
      answer = resolve
    })
    const rows: number[] = []
    for await (const { row } of client.stream('POST /chips/batch', {
      upload: { contentType: 'application/x-ndjson', content: content() },
    })) {
      rows.push(row)
      answer()
    }
    expect(rows).toEqual([1, 2])
  })

  test('a refusal before all is sent is the error, and ends the sending', async () => {
    const { client } = await pair((_, response) => refuse(response, 401))
    async function* endless() {
      for (;;) yield 'x'.repeat(65_536)
    }
    const lines = client.stream('POST /chips/batch', {
      upload: { contentType: 'application/x-ndjson', content: endless() },
    })
    await expect(lines.next()).rejects.toMatchObject({ statusCode: 401 })
  })

  test('an answer that breaks off is a daemon out of reach', async () => {
    const { client } = await pair((request, response) => {
      response.write('{"row":1}\n')
      setImmediate(() => request.socket.destroy())
    })
    const lines = client.stream('GET /admin/taps/follow', {})
    await expect(
      (async () => {
        for await (const _ of lines);
      })(),
    ).rejects.toBeInstanceOf(DaemonUnreachable)
  })

  test('an error of our own input is told as it is', async () => {
    const { client } = await pair(() => undefined)
    async function* broken(): AsyncGenerator<string> {
      yield 'x'
      throw new Error('the disk is gone')
    }
    const lines = client.stream('POST /chips/batch', {
      upload: { contentType: 'application/x-ndjson', content: broken() },
    })
    await expect(lines.next()).rejects.toThrow('the disk is gone')
  })
})
