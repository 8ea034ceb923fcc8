import http from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TokenBucket } from '../../src/daemon/http/token-bucket.ts'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { openForTest, withKey } from '../support/raw-http.ts'
import { acmeKey, derived, otherKey, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let t: TestApp

let counter = 0

const clock = testClock()

beforeAll(async () => {
  t = await openTestApp({ seed, clock })
})

afterAll(() => t.close())

describe('a stranger', () => {
  test('is refused before a byte of the body is read', async () => {
    for (const payload of ['[', '['.repeat(40_000_000)]) {
      const headers = { 'content-type': 'application/json' }
      const answer = await t.app.inject({ method: 'PATCH', url: '/chips', headers, payload })
      expect(answer.statusCode).toBe(401)
    }
  })

  test('shares one limit over all that needs no key, what is not there and refused keys', async () => {
    const limited = await openTestApp({ seed, env: { TAPCHIP_RATE_LIMIT: '6' } })
    const get = (url: string, headers = {}) =>
      limited.app.inject({ url, headers, remoteAddress: '192.0.2.8' })
    const urls = ['/refs/x', '/otps/x', '/t', '/chips/find', '/nothing']
    for (const url of urls) expect((await get(url)).statusCode).toBeLessThan(429)
    expect((await get('/chip-groups', { 'x-svc-api-key': 'svc_guess' })).statusCode).toBe(401)
    for (const url of urls) expect((await get(url)).statusCode).toBe(429)
    expect((await get('/chip-groups', { 'x-svc-api-key': acmeKey })).statusCode).toBe(200)
    await limited.close()
  })

  test('finds a prefetch of a look-up using nothing up', async () => {
    const url = tapPath(tap(derived, { uid: uids.jacket }, ++counter), '/chips/find')
    expect((await t.app.inject({ url, headers: { 'sec-purpose': 'prefetch' } })).statusCode).toBe(503)
    expect((await t.app.inject({ url })).json().isValidTap).toBe(true)
    expect((await t.app.inject({ method: 'HEAD', url: url.replace('/chips/find', '/t') })).statusCode).toBe(
      410,
    )
  })
})

describe('a budget', () => {
  test('is there at once, grows back evenly, and is each client’s own', () => {
    const clock = testClock()
    const budget = new TokenBucket(clock, 6)
    const spend = (client: string, times: number) =>
      Array.from({ length: times }, () => budget.spend(client) ?? 'ok')
    expect(spend('one', 8)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 10, 10])
    expect(spend('two', 1)).toEqual(['ok'])
    clock.advance('4s')
    expect(spend('one', 1)).toEqual([6])
    clock.advance('16s')
    expect(spend('one', 3)).toEqual(['ok', 'ok', 10])
    clock.advance('1h')
    expect(spend('one', 7).at(-1)).toBe(10)
  })

  test.each([1, 7, 600, 60_000])('of %i is just that, whatever the rounding', (most) => {
    const budget = new TokenBucket(testClock(), most)
    for (let n = 0; n < most; n++) budget.spend('x')
    expect(budget.spend('x')).toBeGreaterThan(0)
    const fresh = new TokenBucket(testClock(), most)
    for (let n = 1; n < most; n++) fresh.spend('x')
    expect(fresh.spend('x')).toBeUndefined()
  })

  test('remembers a bounded number of clients, and forgets those that spent long ago', () => {
    const budget = new TokenBucket(testClock(), 1)
    budget.spend('old')
    budget.spend('new')
    for (let n = 0; n < 19_998; n++) budget.spend(String(n))
    budget.spend('new')
    budget.spend('one more')
    expect([budget.spend('new') === undefined, budget.spend('old') === undefined]).toEqual([false, true])
  })
})

describe('guessing', () => {
  const guesses = {
    'API keys': { url: '/chip-groups', headers: withKey('svc_wrong') },
    'admin tokens': { url: '/admin/teams', headers: { authorization: 'Bearer adm_wrong' } },
    refs: { url: '/refs/aaaaaaaaaaaaaaaaaaaaa' },
    'codes, looking them up': { url: '/otps/aaaaaaaaaaaaaaaaaaaaa' },
    'codes, using them': {
      method: 'POST' as const,
      url: '/events/mint/self',
      headers: { 'x-svc-code': 'aaaaaaaaaaaaaaaaaaaaa', 'content-type': 'application/json' },
      payload: '{"recipient":"0x52908400098527886e0f7030069857d2e4169ee7"}',
    },
  }

  test.each(Object.entries(guesses))(
    'at %s is refused after a while, of that client alone, also where strangers have no limit',
    async (_what, request) => {
      const t = await openForTest({ clock: testClock() })
      const from = (remoteAddress: string) => t.app.inject({ ...request, remoteAddress })
      const first = await from('192.0.2.1')
      expect([401, 404]).toContain(first.statusCode)
      const more = await Promise.all(Array.from({ length: 299 }, () => from('192.0.2.1')))
      expect(new Set(more.map(({ statusCode }) => statusCode))).toEqual(new Set([first.statusCode]))
      const refused = await from('192.0.2.1')
      expect(refused.statusCode).toBe(429)
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect((await from('192.0.2.2')).statusCode).toBe(first.statusCode)
      // An office shares an address.
      const good = { url: '/chip-groups', headers: withKey(acmeKey), remoteAddress: '192.0.2.1' }
      expect((await t.app.inject(good)).statusCode).toBe(200)
      const root = { url: '/admin/teams', headers: t.admin, remoteAddress: '192.0.2.1' }
      expect((await t.app.inject(root)).statusCode).toBe(200)
    },
  )

  test('of keys goes on slowly: a few are looked at in a time, others not at all, and who is known notices nothing', async () => {
    const t = await openForTest({
      clock: testClock(),
      env: { TAPCHIP_RATE_LIMIT: '3' },
      patience: { requestMs: 30_000, queueMs: 10_000, guessMs: 300 },
    })
    const ask = async (key: string) =>
      (await t.app.inject({ url: '/chip-groups', headers: withKey(key), remoteAddress: '192.0.2.1' }))
        .statusCode
    expect(await ask(acmeKey)).toBe(200)
    for (let n = 0; n < 3; n++) expect(await ask(`svc_wrong${n}`)).toBe(401)
    let isHeld = true
    const held = Promise.all(Array.from({ length: 8 }, (_, n) => ask(`svc_more${n}`))).then((statuses) => {
      isHeld = false
      return statuses
    })
    // The right key of somebody who was never here, among too many wrong ones, is not even looked at.
    expect(await ask(otherKey)).toBe(429)
    expect(await ask(acmeKey)).toBe(200)
    expect(isHeld).toBe(true)
    expect(await held).toEqual(Array(8).fill(429))
    expect(await ask(otherKey)).toBe(200)
  })

  test('spends what strangers have, once, and whoever comes by IPv6 is one by the first 64 bits', async () => {
    const lines: string[] = []
    const clock = testClock()
    const t = await openForTest({ clock, env: { TAPCHIP_RATE_LIMIT: '3' }, log: (line) => lines.push(line) })
    const ask = async (url: string, headers: Record<string, string>, end: number) =>
      (await t.app.inject({ url, headers, remoteAddress: `2001:db8::${end}` })).statusCode
    expect(await ask('/refs/x', {}, 1)).toBe(404)
    expect(await ask('/chip-groups', withKey('svc_wrong'), 2)).toBe(401)
    expect(await ask('/admin/teams', { authorization: 'Bearer adm_wrong' }, 3)).toBe(401)
    for (const url of ['/refs/x', '/chip-groups', '/admin/teams'])
      expect(await ask(url, { ...withKey('svc_wrong'), authorization: 'Bearer adm_wrong' }, 4)).toBe(429)
    // One line, with whom it is about, and nothing of what was tried.
    const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)
    expect(told).toEqual([
      expect.objectContaining({ client: '2001:db8::', msg: expect.stringContaining('refused') }),
    ])
    expect(lines.join('')).not.toContain('wrong')
    clock.advance('20s')
    expect(await ask('/chip-groups', withKey('svc_wrong'), 5)).toBe(401)
    expect(await ask('/chip-groups', withKey('svc_wrong'), 6)).toBe(429)
  })

  test('is refused on a Unix socket as well', async () => {
    const t = await openForTest({ env: { TAPCHIP_RATE_LIMIT: '2' } })
    const path = join(t.dataDir, 'test.sock')
    await t.app.listen({ path })
    const ask = (token: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { host: 'localhost', authorization: `Bearer ${token}`, connection: 'close' }
        http
          .get({ socketPath: path, path: '/admin/teams', headers }, (answer) => {
            answer.resume()
            resolve(answer.statusCode)
          })
          .on('error', reject)
      })
    expect([await ask('adm_a'), await ask('adm_b'), await ask('adm_c')]).toEqual([401, 401, 429])
    expect(await ask(t.admin.authorization.slice('Bearer '.length))).toBe(200)
  })
})
