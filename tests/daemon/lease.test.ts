import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { setSetting, setting } from '../../src/daemon/store/database/settings.ts'
import { Lease, LeaseLost } from '../../src/daemon/store/lease/lease.ts'
import { testClock } from '../support/daemon.ts'
import { openTestStore } from '../support/engines.ts'
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
const lease = (holder: string, more: { takesOver?: boolean } = {}) =>
  new Lease({ db, name: 'test', holder, clock, leaseMs: 5000, ...more })
const write = (of: Lease, value: string) => of.write((trx) => setSetting(trx, 'written', value))

test('of ten that want a lease one gets it; another gets it once it was not renewed for five seconds, as it saw them', async () => {
  const all = Array.from({ length: 10 }, (_, n) => lease(`p${n}`))
  const taken = await Promise.all(all.map((one) => one.take()))
  expect(taken.filter(Boolean)).toHaveLength(1)
  const first = all[taken.indexOf(true)]
  const second = all[taken.indexOf(false)]
  if (!first || !second) throw new Error('nobody has it')
  expect(await second.take()).toBe(false)
  clock.advance('4s')
  expect(first.isDue).toBe(true)
  expect(await first.renew()).toBe(true)
  clock.advance('4s')
  expect(await second.mayBeTaken()).toBe(false)
  clock.advance('4s')
  expect(await second.mayBeTaken()).toBe(false)
  clock.advance('1s')
  expect(first.isSure).toBe(false)
  expect(await second.take()).toBe(true)
  // One that saw nothing of that has to wait as long.
  expect(await lease('late').take()).toBe(false)
})

test('one that was paused believes that it has the lease, and writes nothing', async () => {
  const first = lease('first')
  await first.take()
  await write(first, 'by the first')
  const second = lease('second', { takesOver: true })
  expect(await second.take()).toBe(true)
  expect(first.isTaken).toBe(true)
  await write(second, 'by the second')
  const late = Promise.allSettled(Array.from({ length: 10 }, () => write(first, 'late')))
  for (const one of await late) expect(one).toMatchObject({ reason: expect.any(LeaseLost) })
  expect(await setting(db.read, 'written')).toBe('by the second')
  expect(first.isTaken).toBe(false)
  expect(second.isSure).toBe(true)
})

test('is free at once when it is given back, and each taking raises its fence', async () => {
  const fence = async () => (await db.read.selectFrom('leases').selectAll().executeTakeFirstOrThrow()).fence
  const first = lease('first')
  const second = lease('second')
  await first.take()
  expect(await fence()).toBe(1)
  await first.giveBack()
  await expect(write(first, 'afterwards')).rejects.toThrow(LeaseLost)
  expect(await second.take()).toBe(true)
  expect(await fence()).toBe(2)
  // What comes too late gives back nothing of others.
  await first.giveBack()
  expect(await second.renew()).toBe(true)
})
