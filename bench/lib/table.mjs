import { percentiles, spread } from './stats.mjs'

const digits = (value) =>
  value >= 100
    ? value.toFixed(0)
    : value >= 10
      ? value.toFixed(1)
      : value >= 0.1
        ? value.toFixed(2)
        : String(Number(value.toPrecision(2)))
const thousands = (value) => Math.round(value).toLocaleString('en')
const amount = (value, unit) =>
  unit.startsWith('/')
    ? thousands(value) + unit
    : unit === '%'
      ? `${(value * 100).toFixed(1)} %`
      : `${digits(value)} ms`
const percent = (share) => (share === undefined ? '–' : `${Math.round(share * 100)} %`)

const saturated = 0.9

/** As cells: the figure, what it did, what its limit did, their ratio, the bar, whether it is reached. */
function cellsOf(row) {
  if (row.latencies?.length > 0) return latencyCells(row)
  // A figure that failed in a later round shows what it has, and a note says so.
  if (!(row.ratios?.length > 0)) return [row.name, 'not measured', '', '', '', '', '']
  const mine = spread(row.values)
  const peer = spread(row.peers)
  const ratio = spread(row.ratios)
  const isAtMost = !row.unit.startsWith('/')
  const isReached =
    row.bar === undefined ? undefined : isAtMost ? ratio.median <= row.bar : ratio.median >= row.bar
  const share = row.share?.length > 0 ? spread(row.share).median : undefined
  const isSlack = share !== undefined && share < saturated
  return [
    row.name,
    amount(mine.median, row.unit),
    `${amount(peer.median, row.unit)} ${row.peer}`,
    `${digits(ratio.median)} (${digits(ratio.min)}–${digits(ratio.max)})`,
    row.bar === undefined ? '' : `${isAtMost ? '≤' : '≥'} ${row.bar}`,
    isReached === undefined ? '' : isReached ? '✓' : '✗',
    share === undefined ? '–' : `${percent(share)}${isSlack ? '*' : ''}`,
  ]
}

/** How long the slowest of so many per cent took at most. */
const cellOf = ([middle, most, almostAll]) =>
  `p50 ${digits(middle)}  p99 ${digits(most)}  p99.9 ${digits(almostAll)} ms`

/** Of many single latencies: the bar is absolute, and holds for p99 and p99.9. */
function latencyCells({ name, latencies, alone, bar }) {
  const mine = percentiles(latencies)
  const peer = alone?.length > 0 ? percentiles(alone) : undefined
  return [
    name,
    cellOf(mine),
    peer === undefined ? '' : `${digits(peer[1])} ms p99 with nothing else`,
    peer === undefined ? '' : digits(mine[1] / peer[1]),
    bar === undefined ? '' : `≤ ${bar.p99}, ${bar.p999} ms`,
    bar === undefined ? '' : mine[1] <= bar.p99 && mine[2] <= bar.p999 ? '✓' : '✗',
    '–',
  ]
}

const heading = ['figure', 'Tapchip', 'its limit', 'ratio (min–max)', 'bar', '', 'server CPU']

export function tableOf(rows) {
  const lines = [heading, ...rows.map(cellsOf)]
  const widths = heading.map((_, at) => Math.max(...lines.map((cells) => cells[at].length)))
  const texts = lines.map((cells) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at]))
      .join('  ')
      .trimEnd(),
  )
  texts.splice(1, 0, widths.map((width) => '─'.repeat(width)).join('  '))
  return texts.join('\n')
}

/** What the cells had no room for. */
export function notesOf(rows) {
  const notes = []
  const slack = rows.filter((row) => row.share?.length > 0 && spread(row.share).median < saturated)
  if (slack.length > 0) {
    notes.push('* the server was not saturated: less than 90 % of its core went into this figure')
    for (const row of slack.filter(({ perCpu }) => perCpu?.length > 0))
      notes.push(`    ${row.name}: per second of CPU the ratio is ${digits(spread(row.perCpu).median)}`)
  }
  for (const row of rows) {
    if (row.error !== undefined) notes.push(`✗ ${row.name}: ${row.error}`)
    for (const note of row.notes ?? []) notes.push(`  ${row.name}: ${note}`)
  }
  return notes
}
