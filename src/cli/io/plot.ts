import { styleText } from 'node:util'
import { bar, formatNumber, type PlotArea, widthOf } from './text.ts'

/** A part of each column, from the bottom up. */
export interface PlotPart {
  readonly name: string
  readonly color: 'green' | 'red'
  readonly values: readonly number[]
}

export interface DrawnPlotArea extends PlotArea {
  readonly color: boolean
}

const rows = 10
const maxColumnWidth = 4
const fills = { unicode: ['█', '▒'], ascii: ['#', 'x'] } as const
const eighths = [...'▁▂▃▄▅▆▇']

/**
 * A plot of stacked columns, its lines from top to bottom: scale, columns, the first and last label, and a legend.
 * Where there are more columns than characters, each stands for the sum of several.
 */
export function columnPlot(
  parts: readonly PlotPart[],
  { first, last, unit }: { first: string; last: string; unit: string },
  area: DrawnPlotArea,
): string[] {
  const count = Math.max(0, ...parts.map(({ values }) => values.length))
  const max = Math.max(0, ...summed(parts, 1))
  if (count === 0 || max === 0) return []
  // Sums have more digits than the values.
  const margin = widthOf(formatNumber(max * Math.ceil(count / 20))) + 1
  const room = Math.max(20, area.width - margin - 1)
  const each = Math.ceil(count / room)
  const merged = parts.map((part) => ({ ...part, values: inSums(part.values, each) }))
  const sums = summed(merged, 1)
  const top = Math.max(...sums)
  const slot = Math.max(1, Math.min(maxColumnWidth + 1, Math.floor(room / sums.length)))
  const scale = { top, gap: slot > 1 ? 1 : 0, width: slot > 1 ? slot - 1 : 1 }
  const columns = sums.map((sum, at) =>
    cellsOf(
      merged.map(({ values }) => values[at] ?? 0),
      sum,
      scale.top,
      area,
    ),
  )
  const lines: string[] = []
  for (let row = rows - 1; row >= 0; row--) {
    const label = row === rows - 1 ? formatNumber(top) : row === 0 ? '0' : ''
    const cells = columns.map((column) => {
      const { glyph, part } = column[row] ?? { glyph: ' ', part: undefined }
      return painted(glyph.repeat(scale.width), merged[part ?? -1], area) + ' '.repeat(scale.gap)
    })
    lines.push(`${label.padStart(margin)} ${cells.join('').trimEnd()}`)
  }
  const span = Math.max(sums.length * slot - scale.gap, widthOf(first) + widthOf(last) + 1)
  lines.push(`${' '.repeat(margin + 1)}${first}${last.padStart(span - widthOf(first))}`)
  const legend = parts.map((part, at) => {
    const fill = fills[area.unicode ? 'unicode' : 'ascii'][at] ?? '#'
    const total = part.values.reduce((sum, value) => sum + value, 0)
    return `${painted(fill, part, area)} ${part.name} ${formatNumber(total)}`
  })
  const scaleText = each > 1 ? `, a column is ${each} ${unit}s` : ''
  lines.push(
    `${' '.repeat(margin + 1)}${legend.join('   ')}   at most ${formatNumber(max)} per ${unit}${scaleText}`,
  )
  return lines
}

const painted = (text: string, part: PlotPart | undefined, { color }: DrawnPlotArea): string =>
  part && color && text.trim() !== '' ? styleText(part.color, text, { validateStream: false }) : text

const inSums = (values: readonly number[], each: number): number[] => {
  const sums: number[] = []
  for (let at = 0; at < values.length; at += each)
    sums.push(values.slice(at, at + each).reduce((sum, value) => sum + value, 0))
  return sums
}

const summed = (parts: readonly PlotPart[], each: number): number[] => {
  const [longest = []] = parts.map(({ values }) => values).sort((a, b) => b.length - a.length)
  return inSums(
    longest.map((_, at) => parts.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
    each,
  )
}

interface Cell {
  glyph: string
  part: number
}

/** From the bottom up. A part that is not 0 has at least one cell. */
function cellsOf(values: readonly number[], sum: number, top: number, { unicode }: PlotArea): Cell[] {
  const cells: Cell[] = []
  if (sum === 0) return cells
  const present = values.flatMap((value, part) => (value > 0 ? [{ value, part }] : []))
  const [first, ...others] = present
  if (first === undefined) return cells
  const height = Math.min(rows, Math.max((sum / top) * rows, others.length && present.length))
  const glyphs = fills[unicode ? 'unicode' : 'ascii']
  const heights = others.map(({ value }) => Math.max(1, Math.round((value / sum) * height)))
  const left = height - heights.reduce((total, one) => total + one, 0)
  const isAlone = others.length === 0
  const whole = isAlone && unicode ? Math.floor(left) : Math.max(1, Math.round(left))
  const add = (part: number, count: number) => {
    for (let at = 0; at < count; at++) cells.push({ glyph: glyphs[part] ?? '#', part })
  }
  add(first.part, whole)
  // Only a column of one part shows eighths of a cell.
  const rest = Math.round((left - whole) * 8)
  if (isAlone && unicode && (rest > 0 || whole === 0))
    cells.push({ glyph: eighths[Math.min(6, Math.max(0, rest - 1))] ?? '▁', part: first.part })
  for (const [at, { part }] of others.entries()) add(part, heights[at] ?? 1)
  return cells.slice(0, rows)
}

/** A line for each value, with its name and a bar. */
export function barPlot(
  values: readonly { readonly name: string; readonly value: number }[],
  area: PlotArea,
): string[] {
  const max = Math.max(0, ...values.map(({ value }) => value))
  const names = Math.min(40, Math.max(0, ...values.map(({ name }) => widthOf(name))))
  const digits = widthOf(formatNumber(max))
  const width = Math.max(8, area.width - names - digits - 3)
  return values.map(({ name: whole, value }) => {
    const name = [...whole].length > 40 ? `${[...whole].slice(0, 39).join('')}…` : whole
    const padding = ' '.repeat(Math.max(0, names - widthOf(name)))
    return `${name}${padding} ${formatNumber(value).padStart(digits)} ${bar(value, max, { ...area, width })}`.trimEnd()
  })
}
