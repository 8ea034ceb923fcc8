import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { setSetting, setting } from '../../src/daemon/store/database/settings.ts'
import { Lease, LeaseLost, withLease } from '../../src/daemon/store/lease/lease.ts'
import { testClock } from '../support/daemon.ts'
import { ageLeases, openTestStore } from '../support/engines.ts'
import { dropDatabaseOf } from '../support/postgres.ts'

let directory: string
let db: Db
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tapchip-lease-'))
  db = await openTestStore(directory)
})
afterEach(async () => {
  await db.close()
  await dropDatabaseOf(directory)
  rmSync(directory, { recursive: true, force: true })
})

const clock = testClock()
const lease = (holder: string, name = 'test') => new Lease({ db, name, holder, clock, leaseMs: 5000 })
const write = (of: Lease, value: string) => of.write((trx) => setSetting(trx, 'written', value))
const row = () => db.read.selectFrom('leases').selectAll().executeTakeFirstOrThrow()
const raceFor = async (all: readonly Lease[]) => {
  const acquired = await Promise.all(all.map((one) => one.acquire()))
  expect(acquired.filter(Boolean)).toHaveLength(1)
  return all[acquired.indexOf(true)] ?? lease('nobody')
}

test('of ten that want a lease one gets it, of nine one once it expired, by the clock of the database', async () => {
  const all = Array.from({ length: 10 }, (_, n) => lease(`p${n}`))
  const first = await raceFor(all)
  const others = all.filter((one) => one !== first)
  expect(await others[0]?.canAcquire()).toBe(false)
  clock.advance('4s')
  expect(first.needsRenewal).toBe(true)
  expect(await first.renew()).toBe(true)
  expect(first.needsRenewal).toBe(false)
  // The clocks of processes decide nothing but what they believe of themselves.
  clock.advance('5s')
  expect(first.isCertain).toBe(false)
  expect(await others[0]?.acquire()).toBe(false)
  await ageLeases(db, 5000)
  expect(await others[0]?.canAcquire()).toBe(true)
  const second = await raceFor(others)
  expect(second.isCertain).toBe(true)
  expect(await first.renew()).toBe(false)
  expect(await second.renew()).toBe(true)
})

test('one that expired is renewed as long as nobody has acquired it', async () => {
  const first = lease('first')
  await first.acquire()
  await ageLeases(db, 5000)
  expect(await first.renew()).toBe(true)
  expect(await lease('second').acquire()).toBe(false)
})

test('if the database sets its clock back, a lease can be acquired all the same', async () => {
  await lease('first').acquire()
  const { expiresAt } = await row()
  await db.write((trx) =>
    trx
      .updateTable('leases')
      .set({ expiresAt: expiresAt + 3_600_000 })
      .execute(),
  )
  expect(await lease('second').acquire()).toBe(true)
})

test('one that was paused believes that it holds the lease, and writes nothing', async () => {
  const first = lease('first')
  await first.acquire()
  await write(first, 'by the first')
  await ageLeases(db, 5000)
  const second = lease('second')
  expect(await second.acquire()).toBe(true)
  expect(first.isHeld).toBe(true)
  await write(second, 'by the second')
  const late = Promise.allSettled(Array.from({ length: 10 }, () => write(first, 'late')))
  for (const one of await late) expect(one).toMatchObject({ reason: expect.any(LeaseLost) })
  expect(await setting(db.read, 'written')).toBe('by the second')
  expect(first.isHeld).toBe(false)
  expect(second.isCertain).toBe(true)
})

test('is free at once when it is released, and each acquisition raises its fence', async () => {
  const first = lease('first')
  const second = lease('second')
  await first.acquire()
  expect(await row()).toMatchObject({ fence: 1 })
  await first.release()
  await expect(write(first, 'afterwards')).rejects.toThrow(LeaseLost)
  expect(await second.acquire()).toBe(true)
  expect(await row()).toMatchObject({ fence: 2 })
  // What comes too late releases nothing of others.
  await first.release()
  expect(await second.renew()).toBe(true)
})

test('a holder whose acquisition was not answered acquires it again at once', async () => {
  await lease('first').acquire()
  expect(await lease('second').acquire()).toBe(false)
  const again = lease('first')
  expect(await again.acquire()).toBe(true)
  expect(await row()).toMatchObject({ holder: 'first', fence: 2 })
})

test('of ten jobs under one lease each runs alone; one that lost the lease writes nothing, and has no result', async () => {
  let [underWay, most] = [0, 0]
  const job = async (own: Lease) => {
    underWay += 1
    most = Math.max(most, underWay)
    await own.renew()
    underWay -= 1
    return 'done'
  }
  const results = await Promise.all(
    Array.from({ length: 10 }, () => withLease({ db, name: 'test' }, 10_000, job)),
  )
  expect(results).toEqual(Array(10).fill('done'))
  expect(most).toBe(1)
  const lost = await withLease({ db, name: 'test' }, 0, async (own) => {
    expect(await withLease({ db, name: 'test' }, 0, async () => 'beside')).toBeUndefined()
    await ageLeases(db, 5000)
    expect(await withLease({ db, name: 'test' }, 0, async () => 'afterwards')).toBe('afterwards')
    await write(own, 'too late')
  })
  expect(lost).toBeUndefined()
  expect(await setting(db.read, 'written')).toBeUndefined()
})
