import { median, percentiles } from './stats.mjs'

/**
 * A row that is a curve: how a tap does as something grows. @param by what grows, and is each sample's `at`
 */
export const curveRow = (name, by) => ({ name, by, samples: [], notes: [] })

/** What one stretch of load says: answers a second, CPU microseconds and milliseconds an answer. */
export function sampleOf(at, { rate, share, latencies }) {
  const [p50, p99] = percentiles(latencies)
  return { at, rate, cpu: share === undefined ? undefined : (share / rate) * 1e6, p50, p99 }
}

const measures = ['rate', 'cpu', 'p50', 'p99']

/** The medians of the rounds, in the order of what grows. What was not measured is absent. */
export function pointsOf(samples) {
  const places = [...new Set(samples.map(({ at }) => at))].sort((one, other) => one - other)
  return places.map((at) => {
    const here = samples.filter((sample) => sample.at === at)
    const known = measures
      .map((measure) => [
        measure,
        here.map((sample) => sample[measure]).filter((value) => value !== undefined),
      ])
      .filter(([, values]) => values.length > 0)
    return { at, ...Object.fromEntries(known.map(([measure, values]) => [measure, median(values)])) }
  })
}
