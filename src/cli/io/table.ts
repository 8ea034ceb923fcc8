import { shown, widthOf } from './text.ts'

/** A column: its heading and what stands in it. */
export type Columns<T> = Readonly<Record<string, (row: T) => unknown>>

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/**
 * Lines of a table. For a terminal the columns are aligned; elsewhere they are set apart by tabs, so that
 * cut and grep see the same whatever else is in the table. Nothing is ever cut off.
 */
export function* tableLines<T>(
  rows: readonly T[],
  columns: Columns<T>,
  look: { aligned: boolean; heading: (text: string) => string },
): Generator<string> {
  const names = Object.keys(columns)
  const readers = Object.values(columns)
  if (!look.aligned) {
    yield names.join('\t')
    for (const row of rows) yield readers.map((read) => shown(read(row))).join('\t')
    return
  }
  const cells = rows.map((row) => readers.map((read) => shown(read(row))))
  const widths = names.map((name, i) =>
    cells.reduce((w, row) => Math.max(w, widthOf(row[i] ?? '')), widthOf(name)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, i) => pad(cell, widths[i] ?? 0))
      .join('  ')
      .trimEnd()
  yield look.heading(line(names))
  for (const row of cells) yield line(row)
}

/** Lines of one thing: a field each. */
export function* fieldLines(fields: Readonly<Record<string, unknown>>, heading: (text: string) => string) {
  const width = Math.max(...Object.keys(fields).map(widthOf))
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${heading(pad(`${name}:`, width + 1))} ${shown(value)}`
  }
}
