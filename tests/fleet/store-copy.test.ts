import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { copyStores } from '../../src/daemon/process/store-copy.ts'
import { type CopyStep, copyStore } from '../../src/daemon/store/copy/copy-store.ts'
import { emptyLayout, openSource, openTarget } from '../../src/daemon/store/copy/open-side.ts'
import { cliHome } from '../support/cli.ts'
import { openTestApp } from '../support/daemon.ts'
import { databaseOf, onServer, testDataKey } from '../support/postgres.ts'
import { asOfBefore, refusedAsOfBefore } from '../support/schemas.ts'
import { seed } from '../support/seeds.ts'

const daemonScript = join(import.meta.dirname, '../../bin/tapchipd.js')
const dir = mkdtempSync(join(tmpdir(), 'tapchip-copy-'))
const [source, real] = [join(dir, 'source'), join(dir, 'real')]
const onSqlite = { TAPCHIP_DATABASE_URL: '', TAPCHIP_DATA_KEY: testDataKey }
const config = { dataKey: testDataKey }

const hostile = (i: number, column: string) =>
  `${i} ${column} "'\\{},NULL\n\t\u2028 é 🎟️ ${'x'.repeat(i % 50)}`

/** A row in every table, made of nothing but the schema, so that a new table is copied as well. */
function fill(file: string, rows: number): void {
  const db = new BetterSqlite3(file)
  db.pragma('foreign_keys = OFF')
  const list = (sql: string, ...of: unknown[]) => db.prepare(sql).all(...of) as Record<string, string>[]
  const known = new Map<string, Record<string, string>[]>()
  const references = (table: string) => {
    const found = known.get(table) ?? list('select * from pragma_foreign_key_list(?)', table)
    known.set(table, found)
    return found
  }
  const cellOf = (table: string, column: string, type: string, i: number): unknown => {
    const to = references(table).find(({ from }) => from === column)
    if (to) return cellOf(String(to.table), String(to.to), type, i)
    if (type === 'INTEGER') return 9_007_199_254_000_000n + BigInt(i)
    return type === 'BLOB' ? Buffer.from([0, i % 256, 255, 92, 34]) : hostile(i, column)
  }
  const tables = list(
    `select name from sqlite_schema where type = 'table' and name not like 'sqlite@_%' escape '@' and name not like 'kysely@_%' escape '@'`,
  )
  db.transaction(() => {
    for (const { name = '' } of tables) {
      const columns = list('select name, type from pragma_table_info(?)', name)
      const insert = db.prepare(
        `insert or ignore into "${name}" (${columns.map((c) => `"${c.name}"`).join()}) values (${columns.map(() => '?').join()})`,
      )
      const count = name === 'taps' ? rows : 3
      for (let i = 1; i <= count; i += 1)
        insert.run(columns.map((c) => cellOf(name, String(c.name), String(c.type), i)))
    }
  })()
  db.close()
}

/** Everything in a file, by the driver alone. */
function dump(file: string, tables: readonly string[]): Record<string, unknown[]> {
  const db = new BetterSqlite3(file, { readonly: true })
  db.defaultSafeIntegers()
  const all = Object.fromEntries(
    tables.map((name) => [name, db.prepare(`select * from "${name}" order by 1, 2`).raw().all()]),
  )
  db.close()
  return all
}

const emptyServer = async (name: string): Promise<string> =>
  (await databaseOf(join(dir, name))).TAPCHIP_DATABASE_URL ?? ''

const copied = (from: string, to: string, onStep: (step: CopyStep) => void = () => undefined) =>
  copyStores({ from, to }, config, onStep)

beforeAll(async () => {
  for (const dataDir of [source, real]) {
    mkdirSync(dataDir)
    await (await openTestApp({ dataDir, env: onSqlite, seed })).close()
  }
  fill(join(source, 'tapchip.db'), 9000)
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('to PostgreSQL and back: every table, every value, and the numbers that were given', async () => {
  const url = await emptyServer('there')
  const { tables } = await emptyLayout()
  const names = tables.map(({ name }) => name)
  const steps: CopyStep[] = []
  const there = await copied(source, url, (step) => steps.push(step))
  expect(there.tables.filter(({ rows }) => rows === 0)).toEqual([])
  expect(there.tables.map(({ table }) => table).sort()).toEqual(names.toSorted())
  expect(there.to).not.toContain('@')
  expect(steps.at(-1)).toMatchObject({ step: 'comparing', done: there.rows, total: there.rows })
  const back = join(dir, 'back')
  const again = await emptyServer('again')
  await copied(source, again)
  const returned = await copied(again, back)
  expect(returned.tables.map(({ digest }) => digest)).toEqual(there.tables.map(({ digest }) => digest))
  expect(dump(join(back, 'tapchip.db'), [...names, 'sqlite_sequence'])).toEqual(
    dump(join(source, 'tapchip.db'), [...names, 'sqlite_sequence']),
  )
})

test('interrupted at every table and within one, it continues; no daemon starts on it before it is whole', async () => {
  const url = await emptyServer('interrupted')
  const env = await databaseOf(join(dir, 'interrupted'))
  const [from, to] = [await openSource({ dataDir: source }), await openTarget({ url })]
  const layout = await emptyLayout()
  const interrupted = new Set<string>()
  const progress = (step: CopyStep) => {
    // After each piece that was written, and once while it compares.
    const at = step.step === 'copying' ? `after row ${step.done}` : step.step
    if (interrupted.has(at)) return
    interrupted.add(at)
    throw new Error('interrupted')
  }
  for (;;) {
    const answer = await copyStore({ from, to, progress, ...layout }).catch((error: Error) => error)
    if (!(answer instanceof Error)) break
    expect([[...interrupted].at(-1), answer.message]).toEqual([[...interrupted].at(-1), 'interrupted'])
    if (interrupted.size % 30 === 1)
      await expect(openTestApp({ dataDir: join(dir, 'early'), env })).rejects.toThrow(/unfinished copy/)
  }
  await Promise.all([from.close(), to.close()])
  // Each table is one piece or more.
  expect(interrupted.size).toBeGreaterThan(layout.tables.length + 4)
}, 120_000)

test('a daemon goes on where the one that was copied stopped, and one with another key is refused', async () => {
  const env = await databaseOf(join(dir, 'moved'))
  await copied(real, env.TAPCHIP_DATABASE_URL ?? '')
  const t = await openTestApp({ dataDir: join(dir, 'late'), env })
  const names = (await emptyLayout()).tables.map(({ name }) => name)
  // Partitions are left out.
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition
    and relname not like 'kysely_%'
    order by relname
  `.execute(t.ctx.db.read)
  expect(tables.map(({ name }) => name)).toEqual(names.toSorted())
  const teams = await t.ctx.db.read.selectFrom('teams').select('id').execute()
  const payload = { name: 'One more' }
  const made = await t.app.inject({ method: 'POST', url: '/admin/teams', headers: t.admin, payload })
  expect([made.statusCode, made.json().id]).toEqual([200, Math.max(...teams.map(({ id }) => id)) + 1])
  const audit = await t.app.inject({ url: '/admin/audit/verify', headers: t.admin })
  expect(audit.body).toContain('"ok":true')
  const other = { ...env, TAPCHIP_DATA_KEY: 'ab'.repeat(32) }
  await expect(openTestApp({ dataDir: join(dir, 'other-key'), env: other })).rejects.toThrow(
    /^The data key in TAPCHIP_DATA_KEY is not the one that postgres:\/\/127\.0\.0\.1:\d+\/\w+ was made with/,
  )
  const here = cliHome({ ...env, TAPCHIP_DATA_DIR: join(dir, 'marking') })
  const used = await here.run('store', 'mark-restored', '--yes')
  expect([used.code, used.stderr]).toEqual([1, expect.stringMatching(/is used by a running daemon/)])
  await t.close()

  // As after a restore to a point in time: what was used since is not in the database.
  const marked = await here.run('store', 'mark-restored', '--yes', '--json')
  expect([marked.stderr, marked.code]).toEqual([expect.stringMatching(/are valid again/), 0])
  const restored = await openTestApp({ dataDir: join(dir, 'late'), env })
  const chips = await restored.ctx.db.read.selectFrom('chips').select('catchesUp').execute()
  expect([...new Set(chips.map(({ catchesUp }) => catchesUp))]).toEqual([1])
  expect(marked.json()).toMatchObject({ chips: chips.length })
  await restored.close()
  here.remove()
})

test('the command: killed with -9 while it copies and run again, it ends with the same digests as undisturbed', async () => {
  const env = await databaseOf(join(dir, 'commanded'))
  const url = env.TAPCHIP_DATABASE_URL ?? ''
  const settings = { TAPCHIP_COPY_FROM: source, TAPCHIP_COPY_TO: url, TAPCHIP_DATA_KEY: testDataKey }
  const child = spawn(process.execPath, [daemonScript, '--store', 'copy'], { env: settings, stdio: 'pipe' })
  for await (const text of child.stdout) if (String(text).includes('"table":"taps"')) child.kill('SIGKILL')
  const here = cliHome({ TAPCHIP_DATA_KEY: testDataKey, TAPCHIP_DATABASE_URL: 'postgres://elsewhere/x' })
  const withPassword = url.replace('tapchip@', 'tapchip:secret@')
  const ran = await here.run('store', 'copy', '--data-dir', source, '--to', withPassword, '--json')
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringMatching(/Both sides are equal/)])
  const undisturbed = await copied(source, await emptyServer('undisturbed'))
  expect(ran.json()).toMatchObject({ from: source, equal: true, tables: undisturbed.tables })
  const again = await here.run('store', 'copy', '--data-dir', source, '--to', withPassword)
  expect([again.code, again.stderr]).toEqual([1, expect.stringMatching(/already contains data/)])
  expect(ran.stdout + ran.stderr + again.stderr).not.toContain('secret')
  here.remove()
})

test('refuses what would mix, lose, or break something, and says what to do', async () => {
  const url = await emptyServer('refused')
  const env = await databaseOf(join(dir, 'refused'))
  await expect(
    copyStores({ from: source, to: url }, { dataKey: 'ab'.repeat(32) }, () => undefined),
  ).rejects.toThrow(/TAPCHIP_DATA_KEY is not the one/)
  await expect(copied(join(dir, 'nowhere'), url)).rejects.toThrow(/has no database/)
  await expect(copied(source, join(dir, 'other'))).rejects.toThrow(/between engines/)
  const running = await openTestApp({ dataDir: real, env: onSqlite })
  await expect(copied(real, url)).rejects.toThrow(/Another tapchipd uses/)
  await running.close()

  const file = join(source, 'tapchip.db')
  const edit = (text: string) => {
    const db = new BetterSqlite3(file)
    db.prepare(`update names set address = ? where name = ?`).run(text, hostile(2, 'name'))
    db.close()
  }
  edit('a\u0000b')
  await expect(copied(source, url)).rejects.toThrow(/U\+0000.*names.*name "2 name.*column address/s)
  edit('changed while it was interrupted')
  const stop = (step: CopyStep) => {
    if (step.table === 'settings') throw new Error('stopped')
  }
  await expect(copied(source, url, stop)).rejects.toThrow('stopped')
  edit('changed again')
  await expect(copied(source, url)).rejects.toThrow(/differs from its source in names \(\d+ rows/)
  await expect(openTestApp({ dataDir: join(dir, 'early'), env })).rejects.toThrow(/unfinished copy/)

  const used = await databaseOf(join(dir, 'used'))
  const app = await openTestApp({ dataDir: join(dir, 'using'), env: used })
  await app.ctx.db.read.selectFrom('settings').selectAll().execute()
  await expect(copied(used.TAPCHIP_DATABASE_URL ?? '', join(dir, 'third'))).rejects.toThrow(
    /used by a running daemon/,
  )
  await expect(copied(source, used.TAPCHIP_DATABASE_URL ?? '')).rejects.toThrow(/used by a running daemon/)
  await app.close()
  await expect(copied(source, used.TAPCHIP_DATABASE_URL ?? '')).rejects.toThrow(/already contains data/)
})

test('a database from before the first schema is refused, as a source, as a target, and after a restore', async () => {
  const env = await databaseOf(join(dir, 'of-before'))
  const url = env.TAPCHIP_DATABASE_URL ?? ''
  const old = join(dir, 'of-before')
  mkdirSync(old)
  await (await openTestApp({ dataDir: old, env: onSqlite })).close()
  const file = new BetterSqlite3(join(old, 'tapchip.db'))
  file.exec(asOfBefore)
  file.close()
  const name = new URL(url).pathname.slice(1)
  await onServer((client) => client.query(asOfBefore), name)
  const [served, unused] = [await emptyServer('served'), join(dir, 'unused')]
  await copied(real, served)
  for (const [from, to] of [
    [old, await emptyServer('unused')],
    [url, unused],
    [real, url],
    [served, old],
  ] as const)
    await expect(copied(from, to)).rejects.toThrow(refusedAsOfBefore)
  const here = cliHome({ ...env, TAPCHIP_DATA_DIR: join(dir, 'marking-before') })
  const marked = await here.run('store', 'mark-restored', '--yes')
  expect([marked.code, marked.stderr]).toEqual([1, expect.stringMatching(refusedAsOfBefore)])
  here.remove()
  const { rows } = await onServer((client) => client.query('select name from kysely_migration'), name)
  expect(rows.map((row) => row.name).sort()).toEqual(['0001-initial', '0012-badge-contents', '0024-nodes'])
})
