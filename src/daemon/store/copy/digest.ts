import { createHash } from 'node:crypto'
import { isCopyMark } from './mark.ts'
import { type Row, type Side, type Table, valuesOf } from './side.ts'

export interface Digest {
  readonly rows: number
  /** Hex of 32 bytes. */
  readonly digest: string
}

/** Rows that are in memory at once, and characters, by the size of those before. */
const atOnce = { rows: 4000, characters: 8_000_000 }
/** An image may have megabytes, after many that are small. */
const mostRows = (table: string): number => (table === 'badgeImages' ? 8 : atOnce.rows)
const fewRows = 8

const sizeOf = (rows: readonly Row[]): number =>
  rows.reduce((sum, row) => sum + row.reduce((of, cell) => of + (cell?.length ?? 0), 0), 0)

/** All rows in pieces. The next piece is on its way while one is worked on. */
export async function* piecesOf(
  { reader, copying }: Side,
  table: Table,
  from: Row | undefined,
): AsyncGenerator<{ rows: Row[]; last: Row }> {
  const key = await copying.keyOf(reader, table.name)
  let limit = fewRows
  const ask = (after: Row | undefined) => {
    const asked = copying.page(reader, { table, key, after, limit })
    // Its failure is seen when it is awaited.
    asked.catch(() => undefined)
    return asked
  }
  let next = ask(from)
  for (;;) {
    const rows = await next
    const end = rows.at(-1)
    if (end === undefined) return
    const last = valuesOf(table, end, key)
    if (rows.length < limit) next = Promise.resolve([])
    else {
      const fitting = Math.floor((atOnce.characters * rows.length) / (sizeOf(rows) + 1))
      limit = Math.max(1, Math.min(fitting, limit * 8, mostRows(table.name)))
      next = ask(last)
    }
    yield { rows: rows.filter((row) => !isCopyMark(table, row)), last }
  }
}

const size = 2n ** 256n

/**
 * The sum of the SHA-256 of its rows, which does not depend on their order: each engine reads them in the order of its
 * own key.
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
