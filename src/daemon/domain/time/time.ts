/** Milliseconds. Tests provide their own. */
export interface Clock {
  /** Since the epoch, by the machine's clock; for dates. It can jump. */
  now(): number
  /** Never goes back; for measuring. */
  monotonic(): number
}

/** The date for budgets: see `Timekeeper.confirmedTime`. */
export interface BudgetClock extends Clock {
  confirmedTime(): number
}

export const systemClock: Clock = { now: () => Date.now(), monotonic: () => performance.now() }

/** ISO 8601 */
export const iso = (ms: number): string => new Date(ms).toISOString()

/** The first instant of a day, YYYY-MM-DD, in UTC. */
export const dayStart = (day: string): string => `${day}T00:00:00.000Z`

/** The last instant of a day, YYYY-MM-DD, in UTC. */
export const dayEnd = (day: string): string => `${day}T23:59:59.999Z`
