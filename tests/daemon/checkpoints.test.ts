import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { afterEach, beforeEach, expect } from 'vitest'
import { insertTeam } from '../../src/daemon/store/access/teams.ts'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { statement } from '../../src/daemon/store/database/statement.ts'
import { beginThread, Checkpoints } from '../../src/daemon/store/sqlite/checkpoints.ts'
import { openSqlite } from '../../src/daemon/store/sqlite/connection.ts'
import { openTestStore, testOfFile } from '../support/engines.ts'

let dir: string
let file: string
let db: Db
beforeEach(async () => {
  written = 0
  dir = mkdtempSync(join(tmpdir(), 'tapchip-checkpoints-'))
  file = join(dir, 'tapchip.db')
  db = await openTestStore(dir)
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true, force: true })
})

const at = '2026-06-01T12:00:00.000Z'
// A commit does what a thread does not, from this size on.
const bound = 16_000 * 4096
/** Counts how often the log began anew. */
const generation = () => readFileSync(`${file}-wal`).readUInt32BE(12)
const teams = statement<{ prefix: string }>()((of, p) =>
  of
    .selectFrom('teams')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('name', '>=', p.prefix),
)
let written: number
// Names of a few pages each: the log is copied at 12 MB.
const long = 'x'.repeat(10_000)
const writeSome = () =>
  Promise.all(
    Array.from({ length: 50 }, () => db.write((trx) => insertTeam(trx, `team ${written++} ${long}`, at))),
  )

testOfFile(
  'the log begins anew while writes and reads go on, and before a commit has to see to it',
  { timeout: 300_000 },
  async () => {
    await writeSome()
    const before = generation()
    let reads = 0
    const reading = setInterval(() => void teams.first(db.read, { prefix: 'team' }).then(() => reads++), 1)
    try {
      while (generation() < before + 2) {
        await writeSome()
        expect(statSync(`${file}-wal`).size).toBeLessThan(bound)
      }
    } finally {
      clearInterval(reading)
    }
    expect(reads).toBeGreaterThan(0)
    expect(await teams.first(db.read, { prefix: 'team' })).toEqual({ count: written })
    expect(await db.maintenance.quickCheck()).toBe('ok')
  },
)

testOfFile('a few large rows are copied as well before a commit has to see to it', async () => {
  await writeSome()
  const before = generation()
  const large = 'x'.repeat(900_000)
  for (let n = 0; generation() === before; n++) {
    await db.write((trx) => insertTeam(trx, `${n}${large}`, at))
    expect(statSync(`${file}-wal`).size).toBeLessThan(bound)
  }
})

testOfFile('a write after the database was closed is refused, and no other waits for it', async () => {
  await db.close()
  await expect(db.write((trx) => insertTeam(trx, 'late', at))).rejects.toThrow('not open')
  db = await openTestStore(dir)
})

testOfFile('a log that somebody still reads from is left alone, and begins anew later', async () => {
  await writeSome()
  const before = generation()
  const other = new BetterSqlite3(file, { readonly: true })
  other.exec('begin')
  const seen = other.prepare('select count(*) from teams').pluck().get()
  // It would have begun anew twice.
  while (statSync(`${file}-wal`).size < 30_000_000) await writeSome()
  expect(generation()).toBe(before)
  expect(other.prepare('select count(*) from teams').pluck().get()).toBe(seen)
  other.close()
  while (generation() === before) await writeSome()
  expect(await teams.first(db.read, { prefix: 'team' })).toEqual({ count: written })
})

/** A database with one table, without the daemon's. */
async function numbers() {
  const path = join(dir, 'other.db')
  const { connection, kysely } = openSqlite(path, { readonly: false })
  await sql`create table numbers (n text)`.execute(kysely)
  const change = () =>
    sql`insert into numbers with recursive c(n) as (select 1 union all select n + 1 from c limit 5000) select hex(zeroblob(2000)) from c`.execute(
      kysely,
    )
  return { path, connection, change, copied: () => connection.pragma('wal_checkpoint(NOOP)') }
}

/** Both passes, between writes. */
async function bothPasses(checkpoints: Checkpoints): Promise<void> {
  expect(checkpoints.between()).toBeUndefined()
  let second: Promise<void> | undefined
  while (!second) {
    await new Promise((resolve) => setImmediate(resolve))
    second = checkpoints.between()
  }
  await second
}

testOfFile('writes go on where no pass can be made', async () => {
  const { connection, change } = await numbers()
  const checkpoints = new Checkpoints(join(dir, 'nowhere', 'other.db'), connection)
  for (let pass = 0; pass < 3; pass++) {
    await change()
    await bothPasses(checkpoints)
  }
  await checkpoints.close()
  connection.close()
  expect(existsSync(join(dir, 'nowhere'))).toBe(false)
})

testOfFile('a machine without a thread to spare is asked again', async () => {
  const { path, connection, change, copied } = await numbers()
  connection.pragma('wal_autocheckpoint = 0')
  let refused = 0
  const checkpoints = new Checkpoints(path, connection, (file) => {
    if (refused < 2) {
      refused += 1
      throw new Error('none')
    }
    return beginThread(file)
  })
  await change()
  await bothPasses(checkpoints)
  expect(refused).toBe(2)
  expect(copied()).toMatchObject([{ checkpointed: 0 }])
  await change()
  await bothPasses(checkpoints)
  const [{ log, checkpointed } = { log: -1, checkpointed: 0 }] = copied() as {
    log: number
    checkpointed: number
  }[]
  expect(checkpointed).toBe(log)
  await checkpoints.close()
  connection.close()
})
