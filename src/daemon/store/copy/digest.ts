import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { isCopyMark } from './mark.ts'
import type { Row, Side, Table } from './side.ts'

export interface Digest {
  readonly rows: number
  /** Hex of 32 bytes. */
  readonly digest: string
}

/** Rows and characters held in memory at once, estimated from the previous rows. */
const batchLimits = { rows: 4000, characters: 8_000_000 }
/** An image may be megabytes, after many small ones. */
const maxRows = (table: string): number => (table === 'badgeImages' ? 8 : batchLimits.rows)
const fewRows = 8

const sizeOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, row) => sum + row.reduce((of, cell) => of + (cell?.length ?? 0), 0), 0)

/** Rows after a key, in the order of the keys, with all columns of the table. */
async function page(
  { reader, copying }: Side,
  { name, columns, key }: Table,
  { after, limit }: { after: Row | undefined; limit: number },
): Promise<Row[]> {
  const names = sql.join(key.map((column) => sql.ref(column)))
  const values = key.map((column, at) => {
    const type = columns.find((one) => one.name === column)?.type ?? 'text'
    return copying.fromText(type, after?.[at])
  })
  const rows = await reader
    .selectFrom(sql.table(name).as('copied'))
    .select(columns.map((column, at) => copying.asText(column).as(`c${at}`)))
    .$if(after !== undefined, (query) =>
      query.where((e) => e(e.parens(names), '>', e.parens(sql.join(values)))),
    )
    .orderBy(names)
    .limit(limit)
    .execute()
  return rows.map((row) => Object.values(row))
}

/** All rows in pieces. The next piece is fetched while one is processed. */
export async function* piecesOf(
  side: Side,
  table: Table,
  from: Row | undefined,
): AsyncGenerator<{ rows: Row[]; last: Row }> {
  let limit = fewRows
  const ask = (after: Row | undefined) => {
    const asked = page(side, table, { after, limit })
    // An error is reported when it is awaited.
    asked.catch(() => undefined)
    return asked
  }
  let next = ask(from)
  for (;;) {
    const rows = await next
    const end = rows.at(-1)
    if (end === undefined) return
    const last = table.key.map((key) => end[table.columns.findIndex(({ name }) => name === key)] ?? null)
    if (rows.length < limit) next = Promise.resolve([])
    else {
      const fittingRows = Math.floor((batchLimits.characters * rows.length) / (sizeOf(rows) + 1))
      limit = Math.max(1, Math.min(fittingRows, limit * 8, maxRows(table.name)))
      next = ask(last)
    }
    yield { rows: rows.filter((row) => !isCopyMark(table, row)), last }
  }
}

const size = 2n ** 256n

/**
 * The sum of the SHA-256 of its rows, which does not depend on their order, because each engine has its own key
 * order.
 */
export async function digestOf(
  side: Side,
  table: Table,
  read: (rows: number) => void = () => undefined,
): Promise<Digest> {
  let sum = 0n
  let count = 0
  for await (const { rows } of piecesOf(side, table, undefined)) {
    for (const row of rows)
      sum += BigInt(`0x${createHash('sha256').update(JSON.stringify(row)).digest('hex')}`)
    sum %= size
    count += rows.length
    read(rows.length)
  }
  return { rows: count, digest: sum.toString(16).padStart(64, '0') }
}
