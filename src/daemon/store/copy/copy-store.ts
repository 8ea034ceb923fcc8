import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Queries } from '../database/database.ts'
import { setting } from '../database/settings.ts'
import { affected, once } from '../database/statement.ts'
import { type Digest, digestOf, piecesOf } from './digest.ts'
import { type CopyMark, copyMark, copyUnfinished } from './mark.ts'
import { CopyProblem, countRows, type Row, type Side, type Table } from './side.ts'

export interface CopiedTable extends Digest {
  readonly table: string
}

export interface CopyStep {
  readonly step: 'copying' | 'comparing'
  readonly table: string
  /** Rows of all tables, so far. */
  readonly done: number
  readonly total: number
}

interface Copy {
  readonly from: Side
  readonly to: Side
  /** In an order that references allow. */
  readonly tables: readonly Table[]
  /** Rows of an empty database, by table. */
  readonly initial: ReadonlyMap<string, number>
  readonly progress: (step: CopyStep) => void
}

/**
 * Copies all rows in pieces, each in a transaction that also stores the progress, so that the same call continues an
 * interrupted copy. Then compares each table, and only then allows daemons to use the copy. Both have the same
 * schema.
 * @returns the compared tables @throws CopyProblem
 */
export async function copyStore(copy: Copy): Promise<CopiedTable[]> {
  const { from, to, tables } = copy
  await assertUnused(from, to)
  const instance = await setting(from.reader, 'instance')
  if (instance === undefined)
    throw new CopyProblem(`${from.name} is empty: no daemon has run on it. Nothing was copied.`)
  if ((await copyMark(from.reader)) !== undefined)
    throw new CopyProblem(
      `${from.name} is itself an unfinished copy. Finish that one first, or copy its source.`,
    )
  const mark = await begin(copy, instance)
  await copyRows(copy, mark)
  const compared = await compare(copy)
  await assertUnused(from, to)
  const lastIds = await from.copying.lastIds(from.reader, tables)
  await to.db.write(async (trx) => {
    // Another copy may have finished and admitted daemons; their IDs must not be set back.
    if (!(await once(trx.deleteFrom('settings').where('key', '=', copyUnfinished))))
      throw new CopyProblem(`Another copy into ${to.name} finished first. Nothing was changed.`)
    await to.copying.setLastIds(trx, lastIds)
  })
  return compared
}

// The server takes a moment to notice that a daemon has ended.
const noticedWithinMs = 3000

/** @throws CopyProblem if a daemon uses one of them */
export async function assertUnused(...sides: Side[]): Promise<void> {
  const until = performance.now() + noticedWithinMs
  for (const side of sides) {
    let users = await side.users()
    while (users > 0 && performance.now() < until) {
      await delay(100)
      users = await side.users()
    }
    if (users > 0)
      throw new CopyProblem(
        `${side.name} is used by a running daemon (${users} connections). Stop all daemons on it, then run this again.`,
      )
  }
}

const write = (db: Queries, from: CopyMark, to: CopyMark): Promise<boolean> =>
  once(
    db
      .updateTable('settings')
      .set({ value: JSON.stringify(to) })
      .where('key', '=', copyUnfinished)
      .where('value', '=', JSON.stringify(from)),
  )

/** @returns where to continue */
function begin({ to, from, tables, initial }: Copy, instance: string): Promise<CopyMark> {
  return to.db.write(async (trx) => {
    const known = await copyMark(trx)
    if (known?.instance === instance) return known
    if (known !== undefined)
      throw new CopyProblem(
        `${to.name} contains an unfinished copy of a database other than ${from.name}. Give an empty one.`,
      )
    for (const { name } of tables) {
      if ((await countRows(trx, name)) > (initial.get(name) ?? 0))
        throw new CopyProblem(
          `${to.name} already contains data (${name}). Give an empty database. Nothing was changed.`,
        )
    }
    for (const { name } of tables.toReversed())
      if (initial.has(name)) await trx.deleteFrom(sql.table(name).as('copied')).execute()
    const mark = { instance, table: tables[0]?.name ?? '', after: null }
    await affected(trx.insertInto('settings').values({ key: copyUnfinished, value: JSON.stringify(mark) }))
    return mark
  })
}

async function copyRows({ from, to, tables, progress }: Copy, begun: CopyMark): Promise<void> {
  const counts = await countsOf(from, tables)
  const total = counts.reduce((sum, count) => sum + count, 0)
  const first = tables.findIndex(({ name }) => name === begun.table)
  let done = counts.slice(0, first).reduce((sum, count) => sum + count, 0)
  if (begun.after !== null) done += await countRows(to.reader, begun.table)
  let mark = begun
  const advance = async (next: CopyMark, job: (trx: Queries) => Promise<void>) => {
    await to.db.write(async (trx) => {
      if (!(await write(trx, mark, next)))
        throw new CopyProblem(`Another copy into ${to.name} is running. Wait for it.`)
      await job(trx)
    })
    mark = next
  }
  for (const [at, table] of tables.entries()) {
    if (at < first) continue
    progress({ step: 'copying', table: table.name, done, total })
    for await (const { rows, last } of piecesOf(from, table, mark.after ?? undefined)) {
      assertStorable(to, table, rows)
      await advance({ ...mark, after: last.slice() }, (trx) => to.copying.insert(trx, table, rows))
      done += rows.length
      progress({ step: 'copying', table: table.name, done, total })
    }
    const next = tables[at + 1]
    if (next) await advance({ ...mark, table: next.name, after: null }, async () => undefined)
  }
}

async function countsOf({ reader }: Side, tables: readonly Table[]): Promise<number[]> {
  const counts: number[] = []
  for (const { name } of tables) counts.push(await countRows(reader, name))
  return counts
}

const maxNamed = 10

function assertStorable({ copying, name }: Side, table: Table, rows: readonly Row[]): void {
  const bad = rows.filter((row) => row.some((cell) => cell !== null && copying.refuses(cell)))
  if (bad.length === 0) return
  const keys = bad.slice(0, maxNamed).map((row) => {
    const columns = table.columns.filter((_, at) => row[at] != null && copying.refuses(row[at] ?? ''))
    return `${table.columns[0]?.name} ${JSON.stringify(row[0])}, column ${columns.map((column) => column.name).join(', ')}`
  })
  throw new CopyProblem(
    `${name} cannot store text that contains U+0000. Rows of ${table.name} that do: ${keys.join('; ')}. ` +
      'Change them with a daemon on the source, stop it, then run this again.',
  )
}

/** @throws CopyProblem if a table differs */
async function compare({ from, to, tables, progress }: Copy): Promise<CopiedTable[]> {
  const total = (await countsOf(from, tables)).reduce((sum, count) => sum + count, 0)
  let done = 0
  const compared: CopiedTable[] = []
  const different: string[] = []
  for (const table of tables) {
    const [source, target] = await Promise.all([
      digestOf(from, table, (rows) => {
        done += rows
        progress({ step: 'comparing', table: table.name, done, total })
      }),
      digestOf(to, table),
    ])
    compared.push({ table: table.name, ...source })
    if (source.rows !== target.rows || source.digest !== target.digest)
      different.push(`${table.name} (${source.rows} rows, and ${target.rows} in the copy)`)
  }
  if (different.length > 0)
    throw new CopyProblem(
      `The copy differs from its source in ${different.join(', ')}: one of them was changed since the copy began. ` +
        `No daemon starts on the copy. Empty ${to.name}, then copy again.`,
    )
  return compared
}
