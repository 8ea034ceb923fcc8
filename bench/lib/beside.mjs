import { spread } from './stats.mjs'
import { digits } from './table.mjs'

/**
 * A figure of this checkout and of another one. Only one of them works at a time, and each hands on to the other before
 * each of its rounds, so that what else runs on the machine disturbs both alike. What asks for no turns is measured as a
 * whole, here and then there.
 * @param measure measures the figure, of this checkout where none is given, with a turn from `turns`
 * @returns the rows of both
 */
export async function measureBeside(measure, plan, checkout) {
  const turns = takingTurns()
  const longer = { ...plan, seconds: 2 * plan.seconds }
  const [here, there] = await Promise.all([undefined, checkout].map((of) => measure(longer, of, turns)))
  return here.flatMap((row, at) => {
    const other = there[at]
    if (other === undefined) return [row]
    const compared = comparison(row, other)
    if (compared) row.notes = [...(row.notes ?? []), compared]
    return [row, { ...other, name: `${other.name}, in ${checkout}` }]
  })
}

/** Whoever waits longest is next. */
export function takingTurns() {
  let isTaken = false
  const waiting = []
  return {
    take: async () => {
      if (isTaken) await new Promise((resolve) => waiting.push(resolve))
      isTaken = true
    },
    give: () => {
      const next = waiting.shift()
      if (next) next()
      else isTaken = false
    },
  }
}

function comparison(row, other) {
  const parts = [
    ['value', 'values'],
    ['ratio', 'ratios'],
    ['ratio per CPU second', 'perCpu'],
  ].flatMap(([name, key]) => {
    const quotients = (row[key] ?? []).map((value, at) => value / other[key]?.[at]).filter(Number.isFinite)
    if (quotients.length === 0) return []
    const { median, min, max } = spread(quotients)
    return [`${name} × ${digits(median)} (${digits(min)}–${digits(max)})`]
  })
  return parts.length === 0 ? undefined : `against the one beside: ${parts.join(', ')}`
}
