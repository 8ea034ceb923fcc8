const hourMs = 3_600_000
const dayMs = 24 * hourMs

export const isTimeZone = (zone: string): boolean => {
  try {
    return formatOf(zone) !== undefined
  } catch {
    return false
  }
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** @throws RangeError for an unknown zone */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const two = '2-digit' as const
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', calendar: 'gregory', numberingSystem: 'latn' },
    ...{ year: 'numeric', month: two, day: two, hour: two, minute: two, second: two },
  })
  // Zones are text that callers send; a few are in use at a time.
  if (formats.size >= 20) formats.clear()
  formats.set(timeZone, format)
  return format
}

/** `2026-11-22T14:05:09`, as a clock on the wall shows it. @param zone an IANA name or UTC */
function localTime(at: number, zone: string): string {
  if (zone === 'UTC') return new Date(at).toISOString().slice(0, 19)
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  )
  const { year = '', month, day, hour, minute, second } = parts
  return `${year.padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}`
}

/** The zone's distance from UTC at an instant, in ms. */
export const offsetAt = (at: number, zone: string): number =>
  Date.parse(`${localTime(at, zone)}Z`) - Math.floor(at / 1000) * 1000

/** The first instant of a date, in ms. Where clocks skip midnight, it is the first one that they show. @param date `2026-11-22` */
export function startOfDay(date: string, zone: string): number {
  const midnight = Date.parse(`${date}T00:00:00Z`)
  // Clocks may change in the night: a day earlier and a day later they show the time before and after.
  const candidates = [midnight - dayMs, midnight + dayMs].map((near) => midnight - offsetAt(near, zone))
  const inDay = candidates.filter((at) => localTime(at, zone).startsWith(date))
  return Math.min(...(inDay.length > 0 ? inDay : candidates))
}

const dayAfter = (date: string): string => new Date(Date.parse(date) + dayMs).toISOString().slice(0, 10)

/** The end of a date, in ms. */
export const endOfDay = (date: string, zone: string): number => startOfDay(dayAfter(date), zone)

function startOfHour(at: number, zone: string): number {
  const offset = offsetAt(at, zone)
  return Math.floor((at + offset) / hourMs) * hourMs - offset
}

export interface Period {
  /** In ms. */
  from: number
  /** `2026-11-22 14:00` or `2026-11-22` in the zone. */
  label: string
}

/** The hours or days that cover the span, at most `most + 1` of them. */
export function periodsOf(
  unit: 'hour' | 'day',
  { since, until, zone }: { since: number; until: number; zone: string },
  max: number,
): Period[] {
  const periods: Period[] = []
  if (unit === 'hour') {
    for (let from = startOfHour(since, zone); from < until && periods.length <= max; ) {
      periods.push({ from, label: localTime(from, zone).slice(0, 16).replace('T', ' ') })
      const next = startOfHour(from + hourMs, zone)
      from = next > from ? next : from + hourMs
    }
    return periods
  }
  for (let date = localTime(since, zone).slice(0, 10); periods.length <= max; date = dayAfter(date)) {
    const from = startOfDay(date, zone)
    if (from >= until) break
    if (from > (periods.at(-1)?.from ?? Number.NEGATIVE_INFINITY)) periods.push({ from, label: date })
  }
  return periods
}
