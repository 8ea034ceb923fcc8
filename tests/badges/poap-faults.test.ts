import { describe, expect, test } from 'vitest'
import { isClaimOf } from '../../src/daemon/badges/provider.ts'
import { OutboundFailed, OutboundRefused } from '../../src/daemon/outbound/outbound.ts'
import { alice, bob, imageOf, newEvent, openPoapClient, secretCode } from '../support/poap/client.ts'
import { type Fault, faults } from '../support/poap/faults.ts'
import { png } from '../support/poap/image-bytes.ts'

const claimEndpoint = 'POST /actions/claim-qr'

/** Every way in which an answer fails to come, or to be one. */
const noAnswer: [string, Fault][] = [
  ['408', faults.status(408)],
  ['425', faults.status(425)],
  ['499', faults.status(499)],
  ['500', faults.status(500)],
  ['503 with Retry-After', faults.retryLater(503, '20')],
  ['an HTML page as 200', faults.html(200)],
  ['an HTML page as 502', faults.html(502)],
  ['JSON of another shape', faults.status(200, { ok: true })],
  ['half of its JSON', faults.halfJson],
  ['half of its bytes', faults.halfConnection],
  ['a connection that ends before the call is carried out', faults.dropBefore],
  ['a connection that ends after it', faults.dropAfter],
  ['silence', faults.holdBefore],
  ['silence after it', faults.holdAfter],
]

describe('a claim that brings no answer', () => {
  test.each(noAnswer)('%s: may have happened, is not repeated, and a look-up tells', async (_name, fault) => {
    const { poap, provider, openEvent, advance } = await openPoapClient({ timeoutMs: 200 })
    const { code } = await openEvent()
    poap.fail(claimEndpoint, fault)
    const result = await provider.claim(code, alice)
    expect(result.kind).toBe('unknown')
    expect(poap.count(claimEndpoint)).toBe(1)
    if (result.kind === 'unknown') expect(result.retryAfterMs).toBeGreaterThanOrEqual(1_000)

    if (result.kind === 'unknown') advance(result.retryAfterMs)
    const happened = poap.code(code).claim !== undefined
    const found = await provider.lookUp(code)
    expect(found.kind).toBe(happened ? 'claimed' : 'unclaimed')
    if (found.kind === 'claimed')
      expect([isClaimOf(found, alice), isClaimOf(found, bob)]).toEqual([true, false])
    if (!happened) expect(await provider.claim(code, alice)).toEqual({ kind: 'claimed' })
  })

  test.each([409, 423])('%i to what changes something: may have happened', async (status) => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail(claimEndpoint, faults.status(status))
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unknown' })
    poap.fail('POST /events', faults.status(status))
    expect(await provider.create(newEvent, imageOf(png()), secretCode)).toMatchObject({ kind: 'unknown' })
  })

  test('a 404 counts where it is POAP itself that says so', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail('GET /actions/claim-qr', faults.status(404, { message: 'Not Found' }))
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unavailable' })
    poap.fail('GET /actions/claim-qr', faults.status(404, { message: 'no Route matched with those values' }))
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable' })
  })

  test('POAP is down: nothing was sent, nothing happened', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    await provider.lookUp(code)
    await poap.close()
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unavailable', retryAfterMs: 10_000 })
    expect(poap.code(code).claim).toBeUndefined()
  })

  test.each<[string, Error, string]>([
    ['nothing was sent, and that is known', new OutboundFailed('connection', 'no', false), 'unavailable'],
    ['something may have been sent', new OutboundFailed('connection', 'no', true), 'unknown'],
    ['it was not allowed to be sent', new OutboundRefused('url', 'no'), 'unavailable'],
  ])('%s', async (_name, error, kind) => {
    const { provider, openEvent } = await openPoapClient({}, (request) =>
      request.method === 'POST' && request.url.endsWith('/actions/claim-qr')
        ? Promise.reject(error)
        : undefined,
    )
    const { code } = await openEvent()
    expect(await provider.claim(code, alice)).toMatchObject({ kind, reason: 'no' })
  })

  test('too many calls: nothing happened, and for as long as it says POAP is not asked', async () => {
    const { poap, provider, openEvent, advance } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail(claimEndpoint, faults.rateLimit('33'), faults.rateLimit())
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unavailable', retryAfterMs: 33_000 })
    advance(30_000)
    const seen = poap.seen.length
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unavailable', retryAfterMs: 3_000 })
    expect(poap.seen.length).toBe(seen)
    advance(3_000)
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unavailable', retryAfterMs: 10_000 })
    expect(poap.code(code).claim).toBeUndefined()
  })

  test('an answer for another code is none', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail(claimEndpoint, faults.status(200, { qr_hash: 'other1', claimed: true }))
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unknown' })
  })
})

describe('a call that changes nothing', () => {
  const withoutSilence = noAnswer.filter(([name]) => !name.startsWith('silence') && !name.startsWith('503'))

  test.each(withoutSilence)('%s: is asked again', async (_name, fault) => {
    const { poap, provider, slept, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail('GET /actions/claim-qr', fault, fault)
    expect(await provider.lookUp(code)).toEqual({ kind: 'unclaimed' })
    expect(poap.count('GET /actions/claim-qr')).toBe(3)
    expect(slept).toEqual([200, 400])
  })

  test.each(withoutSilence)('%s, again and again: three times, then unavailable', async (_name, fault) => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { id, code } = await openEvent()
    const event = { upstreamId: id, secretCode, requestedCodes: 5, createdAt: 0 }
    for (const endpoint of ['GET /actions/claim-qr', 'GET /transactions', 'POST /event/{id}/qr-codes']) {
      poap.fail(endpoint, fault, fault, fault, fault)
    }
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable', retryAfterMs: 10_000 })
    expect(await provider.transaction(code)).toMatchObject({ kind: 'unavailable' })
    expect(await provider.approval(event)).toMatchObject({ kind: 'unavailable' })
    expect(poap.count('GET /actions/claim-qr')).toBe(3)
  })

  test('silence takes no longer than one call may', async () => {
    const { poap, provider, openEvent } = await openPoapClient({ timeoutMs: 150 })
    const { code } = await openEvent()
    poap.fail('GET /actions/claim-qr', faults.holdBefore, faults.holdBefore, faults.holdBefore)
    // The clock of the test stands still: only the call's own limit ends it.
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable' })
  })

  test('waits as long as it is told where that is short, else lets its caller wait', async () => {
    const { poap, provider, slept, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail('GET /actions/claim-qr', faults.retryLater(503, '2'))
    expect(await provider.lookUp(code)).toEqual({ kind: 'unclaimed' })
    expect(slept).toEqual([2_000])
    poap.fail('GET /actions/claim-qr', faults.rateLimit('120'))
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable', retryAfterMs: 120_000 })
    expect(slept).toEqual([2_000])
  })

  test('an event is not rejected, nor a code gone, because a proxy says 404', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { id, code } = await openEvent()
    const event = { upstreamId: id, secretCode, requestedCodes: 9, createdAt: 0 }
    poap.fail('GET /actions/claim-qr', faults.html(404))
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable' })
    poap.fail('POST /event/{id}/qr-codes', faults.html(404))
    expect(await provider.approval(event)).toMatchObject({ kind: 'unavailable' })
    poap.fail(
      'POST /event/{id}/qr-codes',
      faults.status(404, { statusCode: 404, message: 'Event not found' }),
    )
    expect(await provider.approval(event)).toEqual({ kind: 'pending' })
  })

  test('an answer without end is not read to its end', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    const endless = faults.status(200, 'x'.repeat(2_000_000))
    poap.fail('GET /actions/claim-qr', endless, endless, endless)
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable' })
  })
})

describe('creating an event', () => {
  test.each(noAnswer)('%s: may have happened, and is not repeated', async (_name, fault) => {
    const { poap, provider } = await openPoapClient({ timeoutMs: 200 })
    poap.fail('POST /events', fault)
    expect(await provider.create(newEvent, imageOf(png()), secretCode)).toMatchObject({ kind: 'unknown' })
    expect(poap.count('POST /events')).toBe(1)
  })

  test('too many calls: later', async () => {
    const { poap, provider } = await openPoapClient()
    poap.fail('POST /events', faults.rateLimit('60'))
    const result = await provider.create(newEvent, imageOf(png()), secretCode)
    expect(result).toMatchObject({ kind: 'unavailable', retryAfterMs: 60_000 })
    expect(poap.ledger.events.size).toBe(0)
  })

  test('an image that cannot be read is its own failure, and no event comes of it', async () => {
    const { poap, provider } = await openPoapClient()
    const broken = {
      ...imageOf(png()),
      bytes: async function* () {
        yield Buffer.from('a')
        throw new Error('disk')
      },
    }
    await expect(provider.create(newEvent, broken, secretCode)).rejects.toThrow('disk')
    expect(poap.ledger.events.size).toBe(0)
  })
})

describe('settings that do not fit', () => {
  test('a key that POAP does not take: later, with a reason for the log', async () => {
    const { provider } = await openPoapClient({ apiKey: 'another-key-0123456789' })
    expect(await provider.trouble()).toContain('Check TAPCHIP_POAP_')
    const result = await provider.create(newEvent, imageOf(png()), secretCode)
    expect(result).toMatchObject({ kind: 'unavailable', retryAfterMs: 60_000 })
    expect(result.kind === 'unavailable' && result.reason).toContain('TAPCHIP_POAP_')
  })

  test('a URL that leads elsewhere is not followed', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail('GET /actions/claim-qr', faults.redirect(`${poap.url}/health-check`))
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable', retryAfterMs: 60_000 })
    expect(poap.count('GET /health-check')).toBe(0)
  })
})

describe('what POAP says', () => {
  const refusedWith = async (body: unknown) => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    await provider.lookUp(code)
    poap.fail(claimEndpoint, faults.status(400, typeof body === 'function' ? body(poap, code) : body))
    return { poap, code, result: await provider.claim(code, alice) }
  }

  test.each([
    [{ statusCode: 400, error: 'Bad Request', message: 'No' }, 'No'],
    [{ Message: 'Not so' }, 'Not so'],
    [{ message: ['one', 'two'] }, 'one; two'],
    [{ error: 'invalid_grant', error_description: 'Not that' }, 'Not that'],
    [{ error: 'Bad Request' }, 'Bad Request'],
    [{ message: 'a\r\nb\u0000\u202Ec\t d' }, 'a b c d'],
    [{ message: { deep: true }, error: 'Bad Request' }, 'Bad Request'],
  ])('%j is forwarded as %j', async (body, message) => {
    expect((await refusedWith(body)).result).toEqual({ kind: 'refused', status: 400, message })
  })

  test('not at any length', async () => {
    const { result } = await refusedWith({ message: 'é'.repeat(5_000) })
    expect(result.kind === 'refused' && result.message).toBe(`${'é'.repeat(300)}…`)
  })

  test('never with a code, a key or a token in it', async () => {
    const { poap, code, result } = await refusedWith((at: typeof poap, hash: string) => ({
      message: `Bad: ${hash} ${at.code(hash).secret} ${at.config.apiKey} ${at.seen.at(-1)?.headers.authorization}`,
    }))
    expect(result).toEqual({ kind: 'refused', status: 400, message: 'Bad: … … … Bearer …' })
    expect(JSON.stringify(result)).not.toContain(code)
    expect(JSON.stringify(result)).not.toContain(poap.config.apiKey)
  })
})
