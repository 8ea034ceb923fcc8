import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

describe('/t', () => {
  let t: TestApp
  let counter = 0
  const clock = testClock()
  beforeAll(async () => {
    const [acme, other] = structuredClone(seed.teams)
    const deeplink = `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent('https://shop.example/?a=1')}`
    const extra = {
      name: 'Odd',
      chips: [
        { uid: '04111111111180', keySet: 101, redirectUrl: deeplink },
        { uid: '04222222222280', keySet: 101, redirectUrl: 'shopapp://open/tap?svcRef=old#x' },
        { uid: '04333333333380', keySet: 101, item: 'nasty' },
      ],
    }
    const nasty = {
      id: 'nasty',
      name: '<script>alert(1)</script>',
      description: `"'><img src=x onerror=alert(1)>`,
    }
    const acmeTeam = {
      ...acme,
      items: [...(acme?.items ?? []), nasty],
      chipGroups: [...(acme?.chipGroups ?? []), extra],
    }
    t = await openTestApp({ clock, seed: { ...seed, teams: [acmeTeam, other] } })
  })
  afterAll(() => t.close())

  const open = (parameters: Record<string, string>, headers: Record<string, string> = {}) =>
    t.app.inject({ url: tapPath(parameters), headers })

  test('sends a chip with a redirect there, with the ref, uncached and without a referrer or a cookie', async () => {
    const answer = await open(tap(derived, { uid: uids.jacket }, ++counter))
    expect(answer.statusCode).toBe(302)
    expect(answer.headers.location).toMatch(
      /^https:\/\/acme\.example\/jacket\?x=a%20b&svcRef=[A-Za-z0-9_-]{21}$/,
    )
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['referrer-policy']).toBe('no-referrer')
    expect(answer.headers['set-cookie']).toBeUndefined()
  })

  test('says what can be collected, in the words of its assignment or of the event', async () => {
    const shown = async () => (await open(tap(derived, { uid: uids.events }, ++counter))).body
    const [event] = seed.teams[0]?.badgeEvents ?? []
    expect(await shown()).toMatch(new RegExp(`<h2[^>]*><bdi>${event?.name}</bdi></h2>`))
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('badgeAssignments')
        .set({ title: 'Walk <with> us', description: 'From the gate' })
        .execute(),
    )
    const body = await shown()
    expect(body).toMatch(/<bdi>Walk &lt;with&gt; us<\/bdi><\/h2>[\s\S]*From the gate/)
    expect(body).not.toContain(`<bdi>${event?.name}</bdi>`)
  })

  test('puts the ref inside the cb_url of a wallet deeplink', async () => {
    const answer = await open(tap(derived, { uid: '04111111111180' }, 1))
    const inner = new URL(String(answer.headers.location)).searchParams.get('cb_url')
    expect(inner).toMatch(/^https:\/\/shop\.example\/\?a=1&svcRef=[A-Za-z0-9_-]{21}$/)
  })

  test('replaces an old ref in an app link', async () => {
    const answer = await open(tap(derived, { uid: '04222222222280' }, 1))
    expect(answer.headers.location).toMatch(/^shopapp:\/\/open\/tap\?svcRef=[A-Za-z0-9_-]{21}#x$/)
  })

  test('shows a chip without a redirect a page with the links of its team, a ref each', async () => {
    const answer = await open(tap(derived, { uid: uids.blank }, ++counter))
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.body).toContain('Open in Acme')
    expect(answer.body).toContain('Care &amp; repair')
    const refs = [...answer.body.matchAll(/(?:svcRef=|data-ref=")([A-Za-z0-9_-]{21})/g)].map(
      (match) => match[1],
    )
    expect(new Set(refs).size).toBe(3)
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'")
  })

  test('lets the same browser load the same page again until its codes have expired, and no other', async () => {
    const parameters = tap(derived, { uid: uids.blank }, ++counter)
    const first = await open(parameters)
    const cookie = String(first.headers['set-cookie'])
    expect(cookie).toMatch(
      /^tapchip_tap_[\w-]{8}=[A-Za-z0-9_-]{21}; Max-Age=3600; Path=\/t; HttpOnly; SameSite=Lax$/,
    )
    const own = cookie.split(';')[0] ?? ''
    const again = await open(parameters, { cookie: own })
    expect(again.statusCode).toBe(200)
    // The nonce is of one answer alone.
    const same = ({ body }: typeof first) => body.replace(/(nonce=")[^"]+/g, '$1')
    expect(same(again)).toBe(same(first))
    expect((await open(parameters)).statusCode).toBe(410)
    expect((await open(parameters, { cookie: `tapchip_tap=${'x'.repeat(21)}` })).statusCode).toBe(410)
    const other = tap(derived, { uid: uids.twin }, counter)
    await open(other)
    expect((await open(other, { cookie: own })).statusCode).toBe(410)
    clock.advance('1h')
    // Whoever has the cookie or the chip's last tap is not told that somebody else used it.
    for (const headers of [{ cookie: own }, {}]) {
      const late = await open(parameters, headers)
      expect(late.statusCode).toBe(410)
      expect(late.body).toContain('time for this tap is over')
    }
  })

  test('says what to do about a replayed, a forged, an unknown and a cut link, and gives no ref', async () => {
    const good = tap(derived, { uid: uids.jacket }, ++counter)
    const forged = await open({ ...good, c: 'AB'.repeat(8) })
    await open(good)
    const cases = [
      [await open(good), 410, 'used before'],
      [forged, 404, 'belongs to no chip'],
      [await open(tap(derived, { uid: '04AAAAAAAAAA80' }, 1)), 404, 'belongs to no chip'],
      [await open({ e: good.e }), 400, 'not complete'],
    ] as const
    for (const [answer, status, words] of cases) {
      expect(answer.statusCode).toBe(status)
      expect(answer.body).toContain(words)
      expect(answer.body).not.toMatch(/svcRef|data-ref/)
      expect(answer.headers['cache-control']).toBe('no-store')
    }
  })

  test('a prefetch and a HEAD use nothing up', async () => {
    const parameters = tap(derived, { uid: uids.jacket }, ++counter)
    for (const headers of [
      { 'sec-purpose': 'prefetch' },
      { purpose: 'prefetch' },
      { 'x-moz': 'prefetch' },
      { 'sec-purpose': 'prefetch;prerender' },
    ]) {
      expect((await open(parameters, headers)).statusCode).toBe(503)
    }
    expect((await t.app.inject({ method: 'HEAD', url: tapPath(parameters) })).statusCode).toBe(200)
    expect((await open(parameters)).statusCode).toBe(302)
  })

  test('what a team wrote is text on the page, never markup', async () => {
    const answer = await open(tap(derived, { uid: '04333333333380' }, 1))
    expect(answer.body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(answer.body).not.toMatch(/<script|<img/)
  })

  test('of ten concurrent loads of one URL exactly one gets a redirect', async () => {
    const parameters = tap(derived, { uid: uids.jacket }, ++counter)
    const answers = await Promise.all(Array.from({ length: 10 }, () => open(parameters)))
    expect(answers.map((answer) => answer.statusCode).sort()).toEqual([
      302,
      ...Array.from({ length: 9 }, () => 410),
    ])
  })

  test('what it made is of one use with the interface: a tap taken here is replayed there', async () => {
    const parameters = tap(derived, { uid: uids.jacket }, ++counter)
    await open(parameters)
    const answer = await t.app.inject({ url: tapPath(parameters, '/chips/find') })
    expect(answer.json().isValidTap).toBe(false)
  })
})
