import { spread } from './stats.mjs'

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
  if (row.error !== undefined) return [row.name, 'not measured', '', '', '', '', '']
  const mine = spread(row.values)
  const peer = spread(row.peers)
  const ratio = spread(row.ratios)
  const isAtMost = !row.unit.startsWith('/')
  const isReached =
    row.bar === undefined ? undefined : isAtMost ? ratio.median <= row.bar : ratio.median >= row.bar
  const share = row.share === undefined ? undefined : spread(row.share).median
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
  const slack = rows.filter((row) => row.share && spread(row.share).median < saturated)
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
