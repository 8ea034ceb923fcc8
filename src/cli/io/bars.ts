import type { CliContext } from '../context.ts'
import type { Columns } from './lists.ts'
import { bar, shown, widthOf } from './text.ts'

/** On a terminal, bars take the space that the columns leave. */
export const addBars = <T>(
  { io: { plot } }: Pick<CliContext, 'io'>,
  rows: readonly T[],
  columns: Columns<T>,
  countOf: (row: T) => number,
): Columns<T> => {
  const max = Math.max(0, ...rows.map(countOf))
  if (!plot || max === 0) return columns
  const usedWidths = Object.entries(columns).map(
    ([name, read]) => 2 + Math.max(widthOf(name), ...rows.map((row) => widthOf(shown(read(row))))),
  )
  const width = Math.min(40, plot.width - usedWidths.reduce((sum, width) => sum + width, 0))
  // An empty value would be shown as a dash.
  return width < 8 ? columns : { ...columns, ' ': (row) => bar(countOf(row), max, { ...plot, width }) || ' ' }
}
