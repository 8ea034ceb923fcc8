import { shown, widthOf } from './text.ts'

export type Columns<T> = Readonly<Record<string, (row: T) => unknown>>

export interface Layout {
  readonly aligned: boolean
  readonly heading: (text: string) => string
  readonly cell: (text: string) => string
}

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/**
 * A table whose rows come in pieces: the first one decides its columns, and a later one may widen them. On a terminal the
 * columns are aligned; elsewhere they are separated by tabs and never truncated, so that cut and grep get the same
 * whatever else the table contains.
 */
export const tablePieces = <T>(columns: Columns<T>, layout: Layout) => {
  const readers = Object.values(columns)
  let names = Object.keys(columns)
  let kept: readonly boolean[] | undefined
  let widths = names.map(widthOf)
  return function* (rows: readonly T[]): Generator<string> {
    const isFirst = kept === undefined
    if (!layout.aligned) {
      if (isFirst) yield names.join('\t')
      kept = []
      for (const row of rows) yield readers.map((read) => shown(read(row))).join('\t')
      return
    }
    const all = rows.map((row) => readers.map((read) => layout.cell(shown(read(row)))))
    const chosen =
      kept ?? names.map((name, i) => name !== sameForAll || new Set(all.map((row) => row[i])).size > 1)
    const cells = all.map((row) => row.filter((_, i) => chosen[i]))
    if (isFirst) {
      names = names.filter((_, i) => chosen[i])
      widths = names.map(widthOf)
    }
    kept = chosen
    widths = widths.map((width, i) => cells.reduce((w, row) => Math.max(w, widthOf(row[i] ?? '')), width))
    const line = (row: readonly string[]) =>
      row
        .map((cell, i) => pad(cell, widths[i] ?? 0))
        .join('  ')
        .trimEnd()
    if (isFirst) yield layout.heading(line(names))
    for (const row of cells) yield line(row)
  }
}

/** Omitted if all rows belong to one team. */
const sameForAll = 'TEAM'

export function* fieldLines(fields: Readonly<Record<string, unknown>>, heading: (text: string) => string) {
  const width = Math.max(...Object.keys(fields).map(widthOf))
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    yield `${heading(pad(`${name}:`, width + 1))} ${shown(value)}`
  }
}
