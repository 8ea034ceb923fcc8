import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

describe('a refused tap', () => {
  let t: TestApp
  let counter = 0
  const clock = testClock()
  beforeAll(async () => {
    const [acme, other] = structuredClone(seed.teams)
    const links = [
      ...(acme?.links ?? []),
      { label: 'Old', baseUrl: 'https://old.example/?a=1&svcRef=stale#x' },
    ]
    t = await openTestApp({ clock, seed: { ...seed, teams: [{ ...acme, links }, other] } })
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('teams')
        .set({
          brandName: 'Acme Outdoor',
          brandBackground: '#10202c',
          brandLogoUrl: 'https://img.acme.example/l.png',
        })
        .where('name', '=', 'Acme')
        .execute(),
    )
  })
  afterAll(() => t.close())

  const open = (parameters: Record<string, string>, headers: Record<string, string> = {}) =>
    t.app.inject({ url: tapPath(parameters), headers })
  const next = (uid: string) => tap(derived, { uid }, ++counter)
  const hex = (uid: string) => BigInt(`0x${uid}`).toString()
  const change = (set: { disabledAt?: string | null; catchesUp?: 0 | 1 }) =>
    t.ctx.db.write((trx) => trx.updateTable('chips').set(set).where('uid', '=', hex(uids.blank)).execute())

  const expectLook = (body: string) => {
    expect(body).toContain('<bdi>Acme Outdoor</bdi>')
    expect(body).toContain('src="https://img.acme.example/l.png"')
    expect(body).toContain('--paper:#10202c')
    expect(body).toContain('href="https://care.example/"')
    expect(body).toContain('href="https://old.example/?a=1#x"')
    expect(body).not.toMatch(/svcRef|data-ref|<form/)
  }

  test('has the look and the links of its team, without refs, if the chip made it', async () => {
    const used = next(uids.blank)
    const own = { cookie: String((await open(used)).headers['set-cookie']).split(';')[0] ?? '' }
    const replayed = await open(used)
    expect([replayed.statusCode, replayed.body.includes('used before')]).toEqual([410, true])
    expectLook(replayed.body)
    clock.advance('1h')
    const expired = await open(used, own)
    expect([expired.statusCode, expired.body.includes('time for this tap is over')]).toEqual([410, true])
    expectLook(expired.body)
    await change({ catchesUp: 1 })
    const caughtUp = await open(next(uids.blank))
    expect([caughtUp.statusCode, caughtUp.body.includes('hold your phone to the chip again')]).toEqual([
      410,
      true,
    ])
    expectLook(caughtUp.body)
    await change({ disabledAt: '2026-06-01T00:00:00.000Z' })
    const fresh = next(uids.blank)
    for (const disabled of [await open(fresh), await open(fresh)]) {
      expect([disabled.statusCode, disabled.body.includes('switched off')]).toEqual([404, true])
      expectLook(disabled.body)
    }
    await change({ disabledAt: null })
  })

  test('has the look of its team where a form comes too late', async () => {
    const body = (await open(next(uids.blank))).body
    const ref = /data-ref="([\w-]{21})"/.exec(body)?.[1] ?? ''
    clock.advance('2h')
    const late = await t.app.inject({
      ...{ method: 'POST', url: '/t/act' },
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
      payload: new URLSearchParams({ ref, kind: 'claim', id: '0', recipient: 'alice.eth' }).toString(),
    })
    expect(late.statusCode).toBe(410)
    expectLook(late.body)
  })

  test('shows a stranger nothing of a team', async () => {
    const good = next(uids.blank)
    for (const parameters of [
      { ...good, c: 'AB'.repeat(8) },
      tap(derived, { uid: '04AAAAAAAAAA80' }, 1),
      { d: good.d, e: good.e },
    ]) {
      const { statusCode, body } = await open(parameters as Record<string, string>)
      expect(statusCode).toBeGreaterThanOrEqual(400)
      expect(body).not.toMatch(/Acme|acme|care\.example|#10202c/)
    }
  })
})
