import { readMoment } from './date.ts'
import { isTimeZone, offsetAt } from './time-zone.ts'

type ZonedTime = { readonly time: string } | { readonly problem: string }

const local =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?) +([A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*)$/

/**
 * Reads an ISO 8601 time with its offset, or one with a zone after a blank: `2026-11-27T18:00 Europe/Rome`.
 * @returns ISO 8601 in UTC, or why it is refused, to follow the text
 */
export function readZonedTime(text: string): ZonedTime {
  const time = text.includes('T') ? readMoment(text.trim()) : undefined
  if (time !== undefined) return { time }
  const [, day = '', clock = '', zone = ''] = local.exec(text.trim()) ?? []
  const wall = readMoment(`${day}T${clock}Z`)
  if (wall === undefined)
    return {
      problem:
        'is not a time with an offset or a zone, such as 2026-11-27T18:00+01:00 or "2026-11-27T18:00 Europe/Rome"',
    }
  if (!isTimeZone(zone)) return { problem: `names no known time zone: "${zone}"` }
  const ms = Date.parse(wall)
  // No zone is more than a day from UTC, and none changes its clocks twice in two days.
  const offsets = [...new Set([offsetAt(ms - dayMs, zone), offsetAt(ms + dayMs, zone)])]
  const times = offsets.filter((offset) => offsetAt(ms - offset, zone) === offset)
  const [first, second] = times
  if (first === undefined) return { problem: `does not exist: the clocks of ${zone} are set forward then` }
  if (second !== undefined) {
    const either = times.map((offset) => `${day}T${clock}${shown(offset)}`).join(' or ')
    return { problem: `happens twice, as the clocks of ${zone} are set back then: give ${either}` }
  }
  return { time: new Date(ms - first).toISOString() }
}

const dayMs = 86_400_000
const minuteMs = 60_000

/** `+01:00`. */
function shown(offset: number): string {
  const minutes = Math.abs(Math.round(offset / minuteMs))
  const two = (n: number) => String(n).padStart(2, '0')
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
