import { afterAll, beforeAll, expect, test } from 'vitest'
import { TapCounting } from '../../src/daemon/domain/taps/tap-counting.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let t: AdminApp
const clock = testClock()
beforeAll(async () => {
  t = await openAdminApp({ seed, clock })
})
afterAll(() => t.close())

const pulse = async () => (await t.call('GET /admin/taps/pulse?team=Acme')).body
const sum = (rates: { taps: number }[]) => rates.reduce((all, { taps }) => all + taps, 0)
const tapped = async (counter: number, times = 1) => {
  const url = tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find')
  for (let at = 0; at < times; at++) await t.app.inject({ url })
}

test('counts taps by minute, hour, group and item before and after they are summed up, each once', async () => {
  await tapped(1)
  await tapped(2, 3)
  const fresh = await pulse()
  expect(fresh.minutes).toHaveLength(60)
  expect(fresh.hours).toHaveLength(24)
  expect(fresh.minutes.at(-1)).toMatchObject({ taps: 4, valid: 2, outcomes: { valid: 2, replayed: 2 } })
  expect(fresh.groups).toEqual([{ chipGroup: 'Jackets', team: 'Acme', taps: 4, valid: 2, refused: 2 }])
  expect(fresh.items).toMatchObject([{ item: 'jacket', taps: 4 }])
  const counting = new TapCounting(t.ctx)
  await counting.run()
  clock.advance('31s')
  await counting.run()
  expect(await pulse()).toEqual({ ...fresh, minutes: expect.any(Array), attacks: [] })
  await tapped(3)
  await counting.run()
  const { hours, isComplete } = await pulse()
  expect([sum(hours), isComplete]).toEqual([5, true])
})

test('ten daemons that count at once count each tap once', async () => {
  await tapped(4)
  const runs = Array.from({ length: 10 }, () => new TapCounting(t.ctx))
  await Promise.all(runs.map((one) => one.run()))
  clock.advance('31s')
  await Promise.all(runs.map((one) => one.run()))
  expect(sum((await pulse()).hours)).toBe(6)
})

test('tells of a chip whose taps are replayed again and again', async () => {
  await tapped(4, 12)
  const { attacks } = await pulse()
  expect(attacks).toMatchObject([{ outcome: 'replayed', keySet: null, team: 'Acme' }])
  expect(attacks[0].taps).toBeGreaterThanOrEqual(12)
  clock.advance('11m')
  expect((await pulse()).attacks).toEqual([])
})

test('lists the seals that were opened, newest first', async () => {
  const chips = await t.ctx.db.read.selectFrom('chips').select(['uid']).limit(2).execute()
  for (const [at, { uid }] of chips.entries())
    await t.ctx.db.write((trx) =>
      trx
        .updateTable('chips')
        .set({ tamper: 'open', openedAt: `2026-01-0${at + 1}T00:00:00.000Z` })
        .where('uid', '=', uid)
        .execute(),
    )
  const { opened } = await pulse()
  expect(opened.map(({ uid }: { uid: string }) => uid)).toEqual(chips.map(({ uid }) => uid).reverse())
})
