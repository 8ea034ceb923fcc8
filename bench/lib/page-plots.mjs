import { plotOf } from './plot.mjs'

const lineOf = ({ name, points }, measure, label = name) => ({
  name: label,
  points: points.flatMap((point) => (point[measure] === undefined ? [] : [[point.at, point[measure]]])),
})

/** The plots of the page, by the name of their file; none where its curve was not measured. */
export function plotsOf({ figures }) {
  const of = (by) => figures.filter((one) => one.by === by)
  const [chips, connections] = [of('chips'), of('connections')]
  const plots = {}
  if (chips.length > 0)
    plots['performance-chips'] = plotOf({
      title: 'A tap on databases of growing size',
      description:
        'On the left, microseconds of the processor for a valid and for a replayed tap; on the right, half and 99 % of the taps are answered within so many milliseconds. Both against the number of chips; the table beside it has the numbers.',
      panels: [
        panel('Processor', 'µs a tap', 'chips', lines(chips, 'cpu')),
        panel('Answered within', 'ms, at 500 taps a second: half of them, and 99 %', 'chips', [
          ...lines(chips, 'p50'),
          ...chips.map((one) => ({ ...lineOf(one, 'p99', `${one.name}: 99 %`), like: one.name })),
        ]),
      ],
    })
  if (connections.length > 0)
    plots['performance-connections'] = plotOf({
      title: 'Answers over a growing number of connections',
      description:
        'On the left, answers a second of one core; on the right, how many milliseconds 99 % of the answers take at most: for a Fastify hello, a replayed tap, a valid tap, and the same checks in Flask. Both against the number of connections; the table beside it has the numbers.',
      panels: [
        panel('Answers', 'a second', 'connections, each always asking', lines(connections, 'rate')),
        panel('99 % answered within', 'ms', 'connections, each always asking', lines(connections, 'p99')),
      ],
    })
  return plots
}

const lines = (curves, measure) => curves.map((one) => lineOf(one, measure))
const panel = (title, y, x, drawn) => ({
  title,
  y,
  x,
  lines: drawn.filter(({ points }) => points.length > 0),
})
