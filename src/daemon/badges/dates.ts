import { isDay } from '../../values/date.ts'

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/**
 * Reads a day in any of POAP's formats: MM-DD-YYYY, DD-Mon-YYYY, YYYY-MM-DD, or ISO 8601 with a time, which is
 * ignored.
 * @returns YYYY-MM-DD, or undefined if it is none of these
 */
export function readDay(text: string): string | undefined {
  const [, isoDay] = /^(\d{4}-\d{2}-\d{2})(?:$|[T ])/.exec(text.trim()) ?? []
  if (isoDay !== undefined) return isDay(isoDay) ? isoDay : undefined
  const [, first, second, year] =
    /^(\d{1,2})[-/ ](\d{1,2}|[A-Za-z]{3,9})[-/ ](\d{4})$/.exec(text.trim()) ?? []
  if (first === undefined || second === undefined || year === undefined) return undefined
  if (/^\d/.test(second)) return dayOf(Number(year), Number(first), Number(second))
  const month = months.indexOf(second.slice(0, 3).toLowerCase()) + 1
  return dayOf(Number(year), month, Number(first))
}

export const monthFirst = (day: string): string => `${day.slice(5)}-${day.slice(0, 4)}`

interface EventDays {
  startDate: string
  endDate: string
  expiryDate: string
}

interface DayProblem {
  field: keyof EventDays
  message: string
}

export function dayProblems(days: EventDays): DayProblem[] {
  const fields = ['startDate', 'endDate', 'expiryDate'] as const
  const wrong = fields
    .filter((field) => !isDay(days[field]))
    .map((field) => ({
      field,
      message: 'must be an existing day as YYYY-MM-DD (days begin and end in UTC)',
    }))
  if (wrong.length > 0) return wrong
  if (days.endDate < days.startDate) return [{ field: 'endDate', message: 'must not be before startDate' }]
  if (days.expiryDate < days.endDate) return [{ field: 'expiryDate', message: 'must not be before endDate' }]
  return []
}

function dayOf(year: number, month: number, day: number): string | undefined {
  const moment = new Date(Date.UTC(year, month - 1, day))
  // 31 February becomes 3 March.
  if (year < 1000 || moment.getUTCMonth() !== month - 1 || moment.getUTCDate() !== day) return undefined
  return moment.toISOString().slice(0, 10)
}
