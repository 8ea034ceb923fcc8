import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { allTeams, insertTeam } from '../../src/daemon/store/access/teams.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import type { Db } from '../../src/daemon/store/database/database.ts'
import { migrate, openDatabase } from '../../src/daemon/store/database/open.ts'
import { statement } from '../../src/daemon/store/database/statement.ts'
import { openSqlite } from '../../src/daemon/store/sqlite/connection.ts'
import { describeOfFile, openTestStore, testOfFile } from '../support/engines.ts'
import { dropDatabaseOf } from '../support/postgres.ts'

let dir: string
let file: string
let db: Db
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-store-'))
  file = join(dir, 'tapchip.db')
  db = await openTestStore(dir)
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true, force: true })
  await dropDatabaseOf(dir)
})

const at = '2026-06-01T12:00:00.000Z'
const names = async () => (await allTeams(db.read)).map((team) => team.name)

describe('writes', () => {
  test('that fail leave no trace, and take no other of their group with them', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, i) =>
        db.write(async (trx) => {
          await insertTeam(trx, `team ${i}`, at)
          if (i % 3 === 0) throw new Error('no')
          return i
        }),
      ),
    )
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(10)
    expect(await names()).toHaveLength(20)
    expect(await names()).not.toContain('team 3')
  })

  test('that break a rule of the database fail alone as well', async () => {
    const results = await Promise.allSettled(
      ['a', 'b', 'a', 'c'].map((name) => db.write((trx) => insertTeam(trx, name, at))),
    )
    expect(results.map(({ status }) => status).sort()).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled'],
      'rejected',
    ])
    expect([results[1]?.status, results[3]?.status]).toEqual(['fulfilled', 'fulfilled'])
    expect((await names()).sort()).toEqual(['a', 'b', 'c'])
  })

  testOfFile('wait for another program that writes, while reads and everything else go on', async () => {
    const other = new BetterSqlite3(file)
    try {
      other.exec('begin immediate')
      const write = db.write((trx) => insertTeam(trx, 'patient', at))
      let isDone = false
      void write.then(() => {
        isDone = true
      })
      // Nothing here blocks: as many turns go by as one likes.
      for (let turn = 0; turn < 50; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 1))
        expect(await names()).toEqual([])
      }
      expect(isDone).toBe(false)
      other.exec('rollback')
      await write
      expect(await names()).toEqual(['patient'])
    } finally {
      other.close()
    }
  })

  testOfFile('of one turn of the event loop share one commit', async () => {
    const logged = () => statSync(`${file}-wal`).size
    await db.write((trx) => insertTeam(trx, 'first', at))
    const before = logged()
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => db.write((trx) => insertTeam(trx, `grouped ${i}`, at))),
    )
    const grouped = logged() - before
    const middle = logged()
    for (let i = 0; i < 100; i++) await db.write((trx) => insertTeam(trx, `single ${i}`, at))
    const single = logged() - middle
    expect(grouped * 10).toBeLessThan(single)
  })

  test('are not seen before they are committed, and are when they resolve', async () => {
    let seenInside: string[] = []
    await db.write(async (trx) => {
      await insertTeam(trx, 'new', at)
      seenInside = await names()
    })
    expect(seenInside).toEqual([])
    expect(await names()).toEqual(['new'])
  })

  test('that come while a group is written are written too, and closing waits for them', async () => {
    const second = db.write(async (trx) => {
      void later()
      await insertTeam(trx, 'one', at)
    })
    let third: Promise<unknown> = Promise.resolve()
    const later = () => {
      third = db.write((trx) => insertTeam(trx, 'two', at))
      return third
    }
    await second
    await third
    expect((await names()).sort()).toEqual(['one', 'two'])
  })

  testOfFile('are flushed to the disk at every commit, and every table is strict', () => {
    const { connection } = openSqlite(file, { readonly: false })
    expect(connection.pragma('synchronous', { simple: true })).toBe(2)
    expect(connection.pragma('journal_mode', { simple: true })).toBe('wal')
    const tables = connection
      .prepare(
        "select name, strict from pragma_table_list where schema = 'main' and name not like 'sqlite_%' and name not like 'kysely_%'",
      )
      .all()
    expect(tables.length).toBeGreaterThan(18)
    expect(
      tables.filter(
        (table) => typeof table !== 'object' || table === null || !('strict' in table) || table.strict !== 1,
      ),
    ).toEqual([])
    connection.close()
  })
})

testOfFile('closing right after a read does not wait for it', async () => {
  const other = join(dir, 'other.db')
  await migrate(other)
  const quick = openDatabase(other)
  await allTeams(quick.read)
  const start = performance.now()
  await quick.close()
  expect(performance.now() - start).toBeLessThan(2000)
})

describe('a compiled statement', () => {
  const between = statement<{ low: string; high: string }>()((queries, p) =>
    queries
      .selectFrom('teams')
      .select('name')
      .where('name', '>=', p.low)
      .where('name', '<=', p.high)
      .orderBy('name')
      .limit(2),
  )

  test('runs with the values of each call, and keeps those that it was built with', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await db.write((trx) => insertTeam(trx, name, at))
    expect(await between.all(db.read, { high: 'c', low: 'b' })).toEqual([{ name: 'b' }, { name: 'c' }])
    expect(await between.first(db.read, { low: 'd', high: 'z' })).toEqual({ name: 'd' })
    expect(await between.all(db.read, { low: 'a', high: 'z' })).toHaveLength(2)
    expect(await between.first(db.read, { low: 'x', high: 'z' })).toBeUndefined()
  })
})

describe('a sealed secret', () => {
  const box = new SecretBox(Buffer.alloc(32, 7))
  const secret = Buffer.from('00112233445566778899aabbccddeeff', 'hex')

  test('opens where it belongs, and nowhere else', () => {
    const sealed = box.seal(secret, 'keySets:101:metaRead')
    expect(sealed.includes(secret)).toBe(false)
    expect(box.open(sealed, 'keySets:101:metaRead')).toEqual(secret)
    expect(() => box.open(sealed, 'keySets:102:metaRead')).toThrow()
    expect(() => new SecretBox(Buffer.alloc(32, 8)).open(sealed, 'keySets:101:metaRead')).toThrow()
    for (let i = 0; i < sealed.length; i++) {
      const bent = Buffer.from(sealed)
      bent[i] = (bent[i] ?? 0) ^ 1
      expect(() => box.open(bent, 'keySets:101:metaRead')).toThrow()
    }
    expect(() => box.open(Buffer.alloc(3), 'x')).toThrow()
  })

  test('is never sealed alike twice', () => {
    expect(box.seal(secret, 'x')).not.toEqual(box.seal(secret, 'x'))
  })
})

describeOfFile('slow reads', () => {
  test('see what is committed, in a process of their own, and fail by its codes', async () => {
    await db.write((trx) => insertTeam(trx, 'seen', at))
    expect((await allTeams(db.slow)).map(({ name }) => name)).toEqual(['seen'])
    await expect(sql`select * from nowhere`.execute(db.slow)).rejects.toMatchObject({ code: 'SQLITE_ERROR' })
    expect(await db.maintenance.quickCheck()).toBe('ok')
  })

  test('that are under way end with the database', async () => {
    const endless = sql`with recursive n(i) as (select 0 union all select i + 1 from n) select count(*) from n`
    const reading = endless.execute(db.slow)
    reading.catch(() => undefined)
    await db.close()
    await expect(reading).rejects.toThrow('has ended')
    db = openDatabase(file)
  })
})

testOfFile('rows keep their columns when a later version adds some among them', async () => {
  const rows = statement<{ name: string }>()((of, p) =>
    of
      .selectFrom('teams')
      .innerJoin('settings', (join) => join.onTrue())
      .selectAll('teams')
      .select('settings.key as setting')
      .where('teams.name', '=', p.name),
  )
  await db.write((trx) => insertTeam(trx, 'one', at))
  const before = await rows.first(db.read, { name: 'one' })
  expect(before).toMatchObject({ name: 'one', setting: expect.any(String) })
  const later = new BetterSqlite3(file)
  later.exec('alter table teams add column "addedLater" text default \'new\'')
  later.close()
  // Reads of one turn see one state.
  await new Promise((resolve) => setImmediate(resolve))
  expect(await rows.first(db.read, { name: 'one' })).toEqual({ ...before, addedLater: 'new' })
  expect((await rows.all(db.read, { name: 'one' }))[0]).toEqual({ ...before, addedLater: 'new' })
})
