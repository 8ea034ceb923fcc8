import { cellsOf, digits, heading, thousands } from './table.mjs'

const markdown = (heading, rows) => {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(heading), `|${heading.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

const value = (number, show = digits) => (number === undefined ? '–' : show(number))

/** A line of a curve after the other, since they have the same places. */
function curveTable(curves, by, columns) {
  const places = [...new Set(curves.flatMap(({ points }) => points.map(({ at }) => at)))].sort(
    (a, b) => a - b,
  )
  const heading = [by, ...curves.flatMap(({ name }) => columns.map(({ title }) => `${name}: ${title}`))]
  const rows = places.map((place) => [
    thousands(place),
    ...curves.flatMap(({ points }) => {
      const point = points.find(({ at }) => at === place) ?? {}
      return columns.map(({ measure, show }) => value(point[measure], show))
    }),
  ])
  return markdown(heading, rows)
}

const byChips = [
  { title: 'µs CPU', measure: 'cpu', show: (number) => number.toFixed(0) },
  { title: 'p50 ms', measure: 'p50' },
  { title: 'p99 ms', measure: 'p99' },
]
const byConnections = [
  { title: '/s', measure: 'rate', show: thousands },
  { title: 'p99 ms', measure: 'p99' },
]

/** The measured parts of the page, by their name there. */
export function tablesOf({ figures, ...about }) {
  const of = (by) => figures.filter((one) => one.by === by)
  const peers = figures.filter(({ figure }) => figure === 'peers')
  const others = figures.filter(({ figure, by }) => figure !== 'peers' && by === undefined)
  return {
    machine: `${about.at.slice(0, 10)}: ${about.machine}; ${about.cores}; data on ${about.fileSystem}, synchronous FULL.`,
    chips: curveTable(of('chips'), 'chips', byChips),
    connections: curveTable(of('connections'), 'connections', byConnections),
    peers: figureTable(peers),
    figures: figureTable(others),
  }
}

const figureTable = (results) => {
  const failed = results.filter(({ error }) => error !== undefined)
  const told = [
    ...failed.map(({ name, error }) => `- ${name}: ${error.split('\n')[0]}`),
    ...results.flatMap(({ name, notes }) =>
      notes
        .filter((note) => note.startsWith('WRONG'))
        .map((note) => `- ${name}: ${note.split(', such as')[0]}`),
    ),
  ]
  const table = markdown(
    heading,
    results.map((result) => cellsOf(result).map((cell) => cell.replaceAll('|', '\\|'))),
  )
  return [table, ...(told.length > 0 ? ['', 'Failed in this run:', '', ...told] : [])].join('\n')
}
