import { describe, expect, test } from 'vitest'
import { PoapToken } from '../../src/daemon/badges/poap-token.ts'
import { alice, openPoapClient } from '../support/poap/client.ts'
import { faults } from '../support/poap/faults.ts'

const tokenEndpoint = 'POST /oauth/token'
const minute = 60_000

describe('the token', () => {
  test('is asked for once, however many want it at the same time', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { codes } = await openEvent({ requestedCodes: 10 })
    const found = await Promise.all(codes.map((code) => provider.lookUp(code)))
    expect(found.every(({ kind }) => kind === 'unclaimed')).toBe(true)
    expect(poap.count(tokenEndpoint)).toBe(1)
    expect(JSON.parse(poap.seen.find(({ endpoint }) => endpoint === tokenEndpoint)?.body ?? '')).toEqual({
      audience: poap.config.audience,
      grant_type: 'client_credentials',
      client_id: poap.config.clientId,
      client_secret: poap.config.clientSecret,
    })
  })

  test('is kept, and renewed five minutes before it ends', async () => {
    const { poap, provider, advance, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    await provider.lookUp(code)
    advance((24 * 60 - 6) * minute)
    await provider.lookUp(code)
    expect(poap.count(tokenEndpoint)).toBe(1)
    advance(2 * minute)
    await provider.lookUp(code)
    expect(poap.count(tokenEndpoint)).toBe(2)
  })

  test('a short one is renewed when a tenth of its life is left', async () => {
    const { poap, provider, advance, openEvent } = await openPoapClient()
    poap.tokenLifeSeconds = 100
    const { code } = await openEvent()
    await provider.lookUp(code)
    advance(89_000)
    await provider.lookUp(code)
    expect(poap.count(tokenEndpoint)).toBe(1)
    advance(2_000)
    await provider.lookUp(code)
    expect(poap.count(tokenEndpoint)).toBe(2)
  })

  test('is renewed once when it is refused, and the claim goes through once', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    await provider.lookUp(code)
    poap.revokeTokens()
    expect(await provider.claim(code, alice)).toEqual({ kind: 'claimed' })
    expect(poap.count(tokenEndpoint)).toBe(2)
  })

  test('ten calls that find it refused make one request for a new one', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { codes } = await openEvent({ requestedCodes: 10 })
    await provider.lookUp(codes[0] ?? '')
    poap.revokeTokens()
    const found = await Promise.all(codes.map((code) => provider.lookUp(code)))
    expect(found.every(({ kind }) => kind === 'unclaimed')).toBe(true)
    expect(poap.count(tokenEndpoint)).toBe(2)
  })

  test('a late refusal of the old one does not cost the new one', async () => {
    let made = 0
    const next = async () => ({ kind: 'ok', value: { token: `t${++made}`, expiresAt: minute } }) as const
    const token = new PoapToken(next, () => 0)
    await token.get()
    token.drop('t1')
    expect(await token.get()).toMatchObject({ value: { token: 't2' } })
    token.drop('t1')
    expect(await token.get()).toMatchObject({ value: { token: 't2' } })
  })

  test('a fresh one that is refused as well is no reason to go on', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    const no = faults.status(401, { message: 'Unauthorized' })
    poap.fail('GET /actions/claim-qr', no, no, no, no)
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable', retryAfterMs: minute })
    expect(poap.count('GET /actions/claim-qr')).toBe(2)
    expect(poap.count(tokenEndpoint)).toBe(2)
  })

  test('with credentials that do not fit nothing is sent', async () => {
    const { poap, provider, openEvent } = await openPoapClient({ clientSecret: 'wrong-secret-0123456789' })
    const { code } = await openEvent()
    const result = await provider.claim(code, alice)
    expect(result).toMatchObject({ kind: 'unavailable', retryAfterMs: minute })
    expect(poap.count('POST /actions/claim-qr')).toBe(0)
    expect(JSON.stringify(result)).not.toContain('wrong-secret')
  })

  test.each([
    ['answers 500', faults.status(500)],
    ['answers with HTML', faults.html(200)],
    ['answers something else', faults.status(200, { token: 'x' })],
    ['hangs up', faults.dropBefore],
  ])('its endpoint %s: asked again, then later', async (_name, fault) => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.fail(tokenEndpoint, fault)
    expect(await provider.lookUp(code)).toEqual({ kind: 'unclaimed' })
    poap.revokeTokens()
    poap.fail(tokenEndpoint, fault, fault, fault)
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'unavailable' })
    expect(poap.code(code).claim).toBeUndefined()
    expect(await provider.claim(code, alice)).toEqual({ kind: 'claimed' })
  })

  test('an old one is used to its end while its endpoint is down', async () => {
    const { poap, provider, advance, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    await provider.lookUp(code)
    advance((24 * 60 - 4) * minute)
    poap.fail(tokenEndpoint, faults.status(500), faults.status(500), faults.status(500))
    expect(await provider.lookUp(code)).toEqual({ kind: 'unclaimed' })
    advance(5 * minute)
    poap.fail(tokenEndpoint, faults.status(500), faults.status(500), faults.status(500))
    expect(await provider.lookUp(code)).toMatchObject({ kind: 'unavailable' })
  })
})
