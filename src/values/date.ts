const day = /^[1-9]\d{3}-\d{2}-\d{2}$/
const time = /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|[+-](\d{2}):?(\d{2}))$/

/** True if the day exists. JavaScript itself takes 31 February for 3 March. @param text YYYY-MM-DD */
export function isDay(text: string): boolean {
  const ms = day.test(text) ? Date.parse(text) : Number.NaN
  return Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text)
}

/**
 * Reads a day, which means its first instant in UTC, or an ISO 8601 time with its zone.
 * @returns ISO 8601 in UTC; undefined if there is no such day or time
 */
export function readMoment(text: string): string | undefined {
  if (isDay(text)) return new Date(text).toISOString()
  const [, date = '', hour, minute, second = '0', zoneHours = '0', zoneMinutes = '0'] = time.exec(text) ?? []
  const fits = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
  if (!isDay(date) || !fits || Number(zoneHours) > 23 || Number(zoneMinutes) > 59) return undefined
  const ms = Date.parse(text)
  return Number.isFinite(ms) ? new Date(ms).toISOString() : undefined
}

/** True for a time that exists, as YYYY-MM-DDTHH:mm:ssZ, with fractions of a second, or with an offset (+01:00). */
export const isInstant = (text: string): boolean =>
  /T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})$/.test(text) && readMoment(text) !== undefined
