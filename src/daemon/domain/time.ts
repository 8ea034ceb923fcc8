/** Milliseconds since the epoch. Tests give their own. */
export interface Clock {
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export const iso = (ms: number): string => new Date(ms).toISOString()

/** The first instant of a day, YYYY-MM-DD, in UTC. */
export const dayStart = (day: string): string => `${day}T00:00:00.000Z`

/** The last instant of a day, YYYY-MM-DD, in UTC. */
export const dayEnd = (day: string): string => `${day}T23:59:59.999Z`
