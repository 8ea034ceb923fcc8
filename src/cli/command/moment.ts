import { UsageError } from '../errors.ts'
import type { OptionSpec } from './options.ts'

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }
const day = /^\d{4}-\d\d-\d\d$/
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/

/** A moment that may be told from now on: asked for once it is known when that is. */
export type Moment = (now: Date) => string

/** A date, an ISO 8601 time, or a span: so long ago, or so long from now on. */
export const moment = (
  flags: string,
  description: string,
  direction: 'ago' | 'ahead',
): OptionSpec<Moment | undefined> => ({
  flags,
  description: `${description}: a date, an ISO 8601 time, or 30m, 2h, 7d ${direction === 'ago' ? 'ago' : 'from now'}`,
  read: (raw) => {
    if (typeof raw !== 'string') return undefined
    const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(raw) ?? []
    if (count !== undefined) {
      const span = Number(count) * (units[unit] ?? 0)
      return (now) => new Date(now.getTime() + (direction === 'ago' ? -span : span)).toISOString()
    }
    if ((day.test(raw) || time.test(raw)) && !Number.isNaN(Date.parse(raw))) return () => raw
    const long = /--[a-z-]+/.exec(flags)?.[0] ?? flags
    throw new UsageError(
      `${long} must be a date (2026-12-31), an ISO 8601 time with its zone, or a span such as 30m, 2h or 7d, not "${raw}".`,
    )
  },
})
