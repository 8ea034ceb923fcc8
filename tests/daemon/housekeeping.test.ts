import { expect, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/housekeeping.ts'
import { TapLog } from '../../src/daemon/domain/taps/tap-log.ts'
import type { NewTap } from '../../src/daemon/store/taps.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const refused = (counter: number): NewTap => ({
  at: '2026-06-01T12:00:00.000Z',
  chipUid: null,
  teamId: null,
  keySetId: null,
  counter,
  outcome: 'replayed',
  via: 'find',
})

test('each refused tap too many takes the place of the oldest, and every valid one stays', async () => {
  const t = await openTestApp({ seed })
  try {
    for (let counter = 1; counter <= 5; counter++)
      await t.app.inject({ url: tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find') })
    const log = new TapLog(t.ctx.db, { judged: () => undefined, dropped: () => undefined }, 2)
    const listed = async (): Promise<{ outcome: string; counter: number }[]> =>
      (await t.app.inject({ url: '/admin/taps', headers: t.admin })).json()
    for (const counters of [[1], [2, 3], [4, 5, 6]]) {
      for (const counter of counters) log.refuse(refused(counter))
      await log.flush()
      const kept = (await listed()).filter(({ outcome }) => outcome === 'replayed')
      expect(kept.length).toBeLessThanOrEqual(2)
    }
    const taps = await listed()
    expect(taps.filter(({ outcome }) => outcome === 'valid')).toHaveLength(5)
    expect(taps.filter(({ outcome }) => outcome === 'replayed').map(({ counter }) => counter)).toEqual([6, 5])
    const { counts } = (await t.app.inject({ url: '/admin/status', headers: t.admin })).json()
    expect(counts.taps).toBe(7)
  } finally {
    await t.close()
  }
})

test('what has expired by the thousand is removed in pieces', async () => {
  const clock = testClock()
  const t = await openTestApp({ seed, clock })
  try {
    const expiresAt = '2026-06-01T12:00:00.000Z'
    const keys = Array.from({ length: 1201 }, (_, n) => ({
      scope: 'team:1',
      key: `${n}`,
      requestHash: '',
      transactionId: null,
      answer: null,
      createdAt: expiresAt,
      expiresAt,
    }))
    await t.ctx.db.write((trx) => trx.insertInto('idempotencyKeys').values(keys).execute())
    let writes = 0
    const counted: typeof t.ctx.db = {
      ...t.ctx.db,
      write: (job) => {
        writes += 1
        return t.ctx.db.write(job)
      },
    }
    await cleanUp({ db: counted, clock: t.ctx.clock })
    expect(await t.ctx.db.read.selectFrom('idempotencyKeys').selectAll().execute()).toEqual([])
    // 500, 500, 201, and one look at each of the five other tables.
    expect(writes).toBe(8)
  } finally {
    await t.close()
  }
})

test('visits of the tap page are forgotten once they have expired', async () => {
  const clock = testClock()
  const t = await openTestApp({ seed, clock })
  await t.app.inject({ url: tapPath(tap(derived, { uid: uids.blank }, 1)) })
  const count = async () => (await t.ctx.db.read.selectFrom('pageVisits').selectAll().execute()).length
  await cleanUp(t.ctx)
  expect(await count()).toBe(1)
  clock.advance('2h')
  await cleanUp(t.ctx)
  expect(await count()).toBe(0)
  await t.close()
})
