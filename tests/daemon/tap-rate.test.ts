import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

describe('a hall of people behind one address', () => {
  let t: TestApp
  const clock = testClock()
  const chips = Array.from({ length: 50 }, (_, i) => ({
    uid: `04${(0x500000000000 + i).toString(16).toUpperCase()}`,
    keySet: 101,
    ...(i % 2 === 0 ? { redirectUrl: 'https://acme.example/tapped' } : {}),
  }))
  beforeAll(async () => {
    const [acme, other] = seed.teams
    const hall = { ...acme, chipGroups: [...(acme?.chipGroups ?? []), { name: 'Hall', chips }] }
    // The limit that a daemon has by default.
    const env = { TAPCHIP_RATE_LIMIT: '600' }
    t = await openTestApp({ clock, env, seed: { ...seed, teams: [hall, other] } })
  })
  afterAll(() => t.close())

  let counter = 0
  const open = (parameters: Record<string, string>, path = '/t', method: 'GET' | 'HEAD' = 'GET') =>
    t.app.inject({ method, url: tapPath(parameters, path), remoteAddress: '192.0.2.8' })
  const freshOnes = (at: number) => chips.map((chip) => tap(derived, chip, at))
  /** How often each status came. */
  const statuses = (answers: { statusCode: number }[]) => {
    const seen: Record<number, number> = {}
    for (const { statusCode } of answers) seen[statusCode] = (seen[statusCode] ?? 0) + 1
    return seen
  }

  test('opens 2,000 pages and redirects of real taps within a minute, and then still has its limit', async () => {
    const answers = []
    for (counter = 1; counter <= 40; counter++)
      answers.push(...(await Promise.all(freshOnes(counter).map((one) => open(one)))))
    expect(statuses(answers)).toEqual({ 200: 1000, 302: 1000 })

    const [first, second] = freshOnes(40)
    const forged = { ...first, c: '0'.repeat(16) }
    const failures = await Promise.all(Array.from({ length: 598 }, () => open(forged)))
    expect(statuses(failures)).toEqual({ 404: 598 })
    // A replay, and a malformed one that an app passes on.
    expect((await open({ ...second })).statusCode).toBe(410)
    expect((await open({ e: 'x' }, '/chips/find')).statusCode).toBe(400)

    const refused = [await open(forged), await open({ ...second }), await open({ e: 'x' })]
    for (const answer of refused) {
      expect(answer.statusCode).toBe(429)
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect((await open(forged, '/chips/find')).json()).toMatchObject({ statusCode: 429 })
    // Refusals beyond the limit write nothing.
    const before = t.ctx.metrics.taps
    const judged = async () => JSON.stringify((await before.get()).values)
    const seen = await judged()
    await open(forged)
    expect(await judged()).toBe(seen)
  })

  test('of which somebody spent the limit on forged taps, still lets everyone in whose tap is real', async () => {
    const taps = freshOnes(counter++)
    const answers = await Promise.all(taps.map((one) => open(one)))
    expect(statuses(answers)).toEqual({ 200: 25, 302: 25 })
    // Pages are loaded again after each form that is sent without a script.
    const cookie = String(answers[1]?.headers['set-cookie']).split(';', 1)[0]
    const again = (headers: Record<string, string>) =>
      t.app.inject({ url: tapPath(taps[1] ?? {}), headers, remoteAddress: '192.0.2.8' })
    expect([(await again({ cookie: cookie ?? '' })).statusCode, (await again({})).statusCode]).toEqual([
      200, 429,
    ])
    const found = await Promise.all(freshOnes(counter++).map((one) => open(one, '/chips/find')))
    expect(found.filter((answer) => answer.json().isValidTap)).toHaveLength(50)
    const [one = {}] = freshOnes(counter)
    // Of ten at once one is real; the others have nothing to come in by.
    expect(statuses(await Promise.all(Array.from({ length: 10 }, () => open(one))))).toMatchObject({ 302: 1 })
    expect((await open(one)).statusCode).toBe(429)
  })

  test('is verified no more than ten times as often, and everyone has the limit back after a minute', {
    timeout: 300_000,
  }, async () => {
    const [real = {}] = freshOnes(++counter)
    const forged = { ...real, c: '0'.repeat(16) }
    // A HEAD uses nothing up, so a single real tap could be verified without end.
    while ((await open(real, '/t', 'HEAD')).statusCode === 200) {}
    expect((await open(real)).statusCode).toBe(429)
    clock.advance('60s')
    expect((await open(forged)).statusCode).toBe(404)
    expect((await open(real)).statusCode).toBe(302)
  })

  test('pays for pages that are loaded again, so that one tap is not worth any number of them', async () => {
    const few = await openTestApp({ clock, env: { TAPCHIP_RATE_LIMIT: '10' }, seed })
    const url = tapPath(tap(derived, { uid: uids.blank }, 1))
    const load = (cookie: string) => few.app.inject({ url, headers: { cookie }, remoteAddress: '192.0.2.8' })
    const cookie = String((await load('')).headers['set-cookie']).split(';', 1)[0] ?? ''
    const loads = []
    for (let n = 0; n < 120; n++) loads.push(await load(cookie))
    expect(statuses(loads)).toEqual({ 200: 110, 429: 10 })

    // Badges' pictures, which each phone loads, have a limit of their own.
    const picture = () => few.app.inject({ url: '/badge-events/999/image', remoteAddress: '192.0.2.9' })
    const pictures = []
    for (let n = 0; n < 101; n++) pictures.push(await picture())
    expect(statuses(pictures)).toEqual({ 404: 100, 429: 1 })
    expect((await few.app.inject({ url: '/nothing', remoteAddress: '192.0.2.9' })).statusCode).toBe(404)
    await few.close()
  })
})
