/** Milliseconds. Tests give their own. */
export interface Clock {
  /** Since the epoch, as the machine has it: for dates. It can jump. */
  now(): number
  /** Since some moment, and never back: for whatever is measured. */
  monotonic(): number
}

/** What budgets go by as well: see `Timekeeper.settled`. */
export interface BudgetClock extends Clock {
  settled(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

let last = { ms: Number.NaN, text: '' }

/** A moment as text. Many writes share a millisecond, and each asks several times. */
export function iso(ms: number): string {
  if (last.ms !== ms) last = { ms, text: new Date(ms).toISOString() }
  return last.text
}

/** The first instant of a day, YYYY-MM-DD, in UTC. */
export const dayStart = (day: string): string => `${day}T00:00:00.000Z`

/** The last instant of a day, YYYY-MM-DD, in UTC. */
export const dayEnd = (day: string): string => `${day}T23:59:59.999Z`
