import { pointsOf } from './curve.mjs'
import { percentiles, spread } from './stats.mjs'

/** A server that used less of its core was not what limited the figure. */
export const saturated = 0.9

const isAtMost = ({ unit }) => !unit.startsWith('/')

/**
 * What a figure measured, as text and machines show it: `{ figure, name, unit, value, peer: { name, value }, ratio,
 * bar, isReached, serverCpu, error, notes }`, where `figure` is its name for --only, `value` and `ratio` are
 * `{ median, min, max }` and units are `ms`, `MB`, `/s`, or `%`. Of single latencies, `latency` and `alone` are
 * `{ p50, p99, p999 }` in milliseconds and `bar` is `{ p99, p999 }`. A row that `isAbsolute` has its
 * bar for the value, and a peer only for comparison, if at all. A curve has `by`, what grows along it, and
 * `points`: `{ at, rate, cpu, p50, p99 }`, of which `rate` is answers a second at most, `cpu` microseconds an answer, and
 * the rest milliseconds. What was not measured is absent.
 */
export function resultOf(row) {
  const { figure, name, error, notes = [] } = row
  const about = { figure, name, ...(error === undefined ? {} : { error }), notes }
  if (row.samples?.length > 0) return { ...about, by: row.by, points: pointsOf(row.samples) }
  if (row.latencies?.length > 0) return { ...about, ...latencies(row) }
  // A figure that failed in a later round has what came before.
  if (!(row.values?.length > 0)) return about
  const value = spread(row.values)
  const hasPeer = row.ratios?.length > 0
  const ratio = hasPeer ? spread(row.ratios) : undefined
  const { median } = row.isAbsolute ? value : ratio
  return {
    ...about,
    unit: row.unit,
    value,
    ...(hasPeer ? { peer: { name: row.peer, value: spread(row.peers) }, ratio } : {}),
    ...(row.isAbsolute ? { isAbsolute: true } : {}),
    ...(row.bar === undefined
      ? {}
      : { bar: row.bar, isReached: isAtMost(row) ? median <= row.bar : median >= row.bar }),
    ...(row.share?.length > 0 ? { serverCpu: spread(row.share).median } : {}),
    ...(row.perCpu?.length > 0 ? { ratioPerCpu: spread(row.perCpu).median } : {}),
  }
}

/** The bar is absolute, and holds for p99 and p99.9. */
function latencies({ latencies, alone, bar }) {
  const latency = named(percentiles(latencies))
  return {
    unit: 'ms',
    latency,
    ...(alone?.length > 0 ? { alone: named(percentiles(alone)) } : {}),
    ...(bar === undefined ? {} : { bar, isReached: latency.p99 <= bar.p99 && latency.p999 <= bar.p999 }),
  }
}

const named = ([p50, p99, p999]) => ({ p50, p99, p999 })

/** Of a whole run, for machines. @param rows of all figures */
export const reportOf = (rows, about) => ({ ...about, figures: rows.map(resultOf) })
