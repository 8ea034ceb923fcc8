import { shown, widthOf } from './text.ts'

export type Columns<T> = Readonly<Record<string, (row: T) => unknown>>

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/**
 * Lines of a table. On a terminal the columns are aligned; elsewhere they are separated by tabs and never truncated, so
 * that cut and grep get the same whatever else the table contains.
 */
export function* tableLines<T>(
  rows: readonly T[],
  columns: Columns<T>,
  layout: { aligned: boolean; heading: (text: string) => string; cell: (text: string) => string },
): Generator<string> {
  const names = Object.keys(columns)
  const readers = Object.values(columns)
  if (!layout.aligned) {
    yield names.join('\t')
    for (const row of rows) yield readers.map((read) => shown(read(row))).join('\t')
    return
  }
  const cells = rows.map((row) => readers.map((read) => layout.cell(shown(read(row)))))
  const isKept = (_: unknown, i: number) =>
    names[i] !== sameForAll || new Set(cells.map((row) => row[i])).size > 1
  yield* aligned(
    names.filter(isKept),
    cells.map((row) => row.filter(isKept)),
    layout.heading,
  )
}

/** Omitted if all rows belong to one team. */
const sameForAll = 'TEAM'

function* aligned(
  names: readonly string[],
  cells: readonly (readonly string[])[],
  heading: (text: string) => string,
): Generator<string> {
  const widths = names.map((name, i) =>
    cells.reduce((w, row) => Math.max(w, widthOf(row[i] ?? '')), widthOf(name)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => pad(cell, widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  yield heading(line(names))
  for (const row of cells) yield line(row)
}

export function* fieldLines(fields: Readonly<Record<string, unknown>>, heading: (text: string) => string) {
  const width = Math.max(...Object.keys(fields).map(widthOf))
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${heading(pad(`${name}:`, width + 1))} ${shown(value)}`
  }
}
