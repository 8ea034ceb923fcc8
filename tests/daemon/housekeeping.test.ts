import { expect, test } from 'vitest'
import { tidy } from '../../src/daemon/domain/housekeeping.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

test('the newest refused taps are kept, and every valid one', async () => {
  const t = await openTestApp({ seed })
  const find = (counter: number) =>
    t.app.inject({ url: tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find') })
  for (let counter = 1; counter <= 5; counter++) await find(counter)
  for (let counter = 1; counter <= 5; counter++) await find(counter)
  await t.ctx.tapLog.flush()
  await tidy(t.ctx, 2)
  const taps: { outcome: string; counter: number }[] = (
    await t.app.inject({ url: '/admin/taps', headers: t.admin })
  ).json()
  expect(taps.filter(({ outcome }) => outcome === 'valid')).toHaveLength(5)
  expect(taps.filter(({ outcome }) => outcome === 'replayed').map(({ counter }) => counter)).toEqual([5, 4])
  await t.close()
})

test('visits of the tap page are forgotten once they have expired', async () => {
  const clock = testClock()
  const t = await openTestApp({ seed, clock })
  await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 1)) })
  const count = async () => (await t.ctx.db.read.selectFrom('pageVisits').selectAll().execute()).length
  await tidy(t.ctx)
  expect(await count()).toBe(1)
  clock.advance('2h')
  await tidy(t.ctx)
  expect(await count()).toBe(0)
  await t.close()
})
