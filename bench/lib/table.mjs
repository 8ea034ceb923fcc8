import { resultOf, saturated } from './results.mjs'

export const digits = (value) =>
  value >= 100
    ? value.toFixed(0)
    : value >= 10
      ? value.toFixed(1)
      : value >= 0.1
        ? value.toFixed(2)
        : String(Number(value.toPrecision(2)))
export const thousands = (value) => Math.round(value).toLocaleString('en')
const amount = (value, unit) =>
  unit.startsWith('/')
    ? thousands(value) + unit
    : unit === '%'
      ? `${(value * 100).toFixed(1)} %`
      : `${digits(value)} ${unit}`
const percent = (share) => (share === undefined ? '–' : `${Math.round(share * 100)} %`)

/** A result as cells: the figure, what it did, what its limit did, their ratio, the bar, whether it is reached. */
export function cellsOf(result) {
  if (result.latency) return latencyCells(result)
  if (result.points) return curveCells(result)
  // A figure that failed in a later round shows what it has, and a note says so.
  if (!result.value) return [result.name, 'not measured', '', '', '', '', '']
  const { name, unit, value, peer, ratio, isAbsolute, bar, serverCpu } = result
  const around = ({ min, max }) => `(${digits(min)}–${digits(max)})`
  return [
    name,
    `${amount(value.median, unit)}${isAbsolute ? ` ${around(value)}` : ''}`,
    peer === undefined ? '' : `${amount(peer.value.median, unit)} ${peer.name}`,
    ratio === undefined ? '' : `${digits(ratio.median)} ${around(ratio)}`,
    bar === undefined ? '' : `${unit.startsWith('/') ? '≥' : '≤'} ${bar}${isAbsolute ? ` ${unit}` : ''}`,
    tick(result),
    serverCpu === undefined ? '–' : `${percent(serverCpu)}${serverCpu < saturated ? '*' : ''}`,
  ]
}

const tick = ({ isReached }) => (isReached === undefined ? '' : isReached ? '✓' : '✗')

/** How long the slowest of so many per cent took at most. */
const cellOf = ({ p50, p99, p999 }) => `p50 ${digits(p50)}  p99 ${digits(p99)}  p99.9 ${digits(p999)} ms`

function latencyCells(result) {
  const { name, latency, alone, bar } = result
  return [
    name,
    cellOf(latency),
    alone === undefined ? '' : `${digits(alone.p99)} ms p99 with nothing else`,
    alone === undefined ? '' : digits(latency.p99 / alone.p99),
    bar === undefined ? '' : `≤ ${bar.p99}, ${bar.p999} ms`,
    tick(result),
    '–',
  ]
}

/** From its first point to its last; the others are for machines and for the page. */
function curveCells({ name, by, points }) {
  const ends = [points[0], points.at(-1)]
  const cpu = ends.map((point) => (point.cpu === undefined ? '–' : `${digits(point.cpu)} µs CPU`))
  const did = by === 'chips' ? cpu : ends.map(({ rate }) => amount(rate, '/s'))
  const places = ends.map(({ at }) => thousands(at))
  return [`${name}, by ${by}`, did.join(' … '), `at ${places.join(' … ')} ${by}`, '', '', '', '']
}

export const heading = ['figure', 'Tapchip', 'its limit', 'ratio (min–max)', 'bar', '', 'server CPU']

export function tableOf(rows) {
  const lines = [heading, ...rows.map((row) => cellsOf(resultOf(row)))]
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
  const results = rows.map(resultOf)
  const notes = []
  const slack = results.filter(({ serverCpu }) => serverCpu !== undefined && serverCpu < saturated)
  if (slack.length > 0)
    notes.push('* the server was not saturated: less than 90 % of its core went into this figure')
  for (const { name, ratioPerCpu } of results.filter((result) => result.ratioPerCpu !== undefined))
    notes.push(`    ${name}: per second of CPU the ratio is ${digits(ratioPerCpu)}`)
  const errors = new Map()
  for (const { name, error } of results)
    if (error !== undefined) errors.set(error, [...(errors.get(error) ?? []), name])
  for (const [error, names] of errors) notes.push(`✗ ${names.join('; ')}: ${error}`)
  for (const { name, notes: own } of results) for (const note of own) notes.push(`  ${name}: ${note}`)
  return notes
}
