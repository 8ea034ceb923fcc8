import { expect, onTestFinished, test } from 'vitest'
import { cleanUp } from '../../src/daemon/domain/operations/housekeeping.ts'
import { deleteOld } from '../../src/daemon/domain/operations/retention.ts'
import { listTapRecords, TapLog } from '../../src/daemon/domain/taps/tap-log.ts'
import type { NewTap } from '../../src/daemon/store/taps/taps.ts'
import { openTestApp, testClock } from '../support/daemon.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
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

test('the list of taps waits for refused ones that are being stored', async () => {
  const t = await openTestApp()
  onTestFinished(() => t.close())
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const db: typeof t.ctx.db = {
    ...t.ctx.db,
    write: async (job) => {
      await held
      return t.ctx.db.write(job)
    },
  }
  const log = new TapLog(db, { judged: () => undefined, dropped: () => undefined })
  log.refuse(refused(1))
  const first = log.flush()
  const listed = listTapRecords({ db, tapLog: log }, { limit: 10 })
  // By then a list that did not wait would be read.
  expect(await listTapRecords(t.ctx, { limit: 10 })).toEqual([])
  release()
  expect(await listed).toMatchObject([{ counter: 1, outcome: 'replayed' }])
  await first
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
    // 500, 500, 201, and one look at each of the six other tables, and two at what is kept by e-mail.
    expect(writes).toBe(11)
  } finally {
    await t.close()
  }
})

const openApp = async () => {
  const clock = testClock()
  const t = await openTestApp({ seed, clock })
  onTestFinished(() => t.close())
  return { t, clock }
}

test('visits of the tap page are forgotten once they have expired, and not before', async () => {
  const { t, clock } = await openApp()
  const url = tapPath(tap(derived, { uid: uids.blank }, 1))
  const first = await t.app.inject({ url })
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? ''
  const again = async () => (await t.app.inject({ url, headers: { cookie } })).statusCode
  await cleanUp(t.ctx)
  expect(await again()).toBe(200)
  clock.advance('2h')
  await cleanUp(t.ctx)
  expect(await again()).toBe(410)
})

test('what is stored of a code that was used or deleted goes with its tap, and not before', async () => {
  const { t, clock } = await openApp()
  const find = async (counter: number) =>
    (await t.app.inject({ url: tapPath(tap(derived, { uid: uids.events }, counter), '/chips/find') })).json()
  const { otp } = await find(1)
  const headers = { 'x-svc-api-key': acmeKey }
  expect((await t.app.inject({ method: 'DELETE', url: `/otps/${otp.code}`, headers })).json()).toMatchObject({
    success: true,
  })
  const stored = async () => (await t.ctx.db.read.selectFrom('spentCodes').selectAll().execute()).length
  clock.advance('729d')
  await find(2)
  await deleteOld(t.ctx)
  await cleanUp(t.ctx)
  expect(await stored()).toBe(1)
  clock.advance('2d')
  await deleteOld(t.ctx)
  await cleanUp(t.ctx)
  expect(await stored()).toBe(0)
  expect((await t.app.inject({ url: `/otps/${otp.code}` })).statusCode).toBe(404)
})
