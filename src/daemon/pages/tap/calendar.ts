import type { CalendarEntry } from '../../domain/tap-page/calendar.ts'
import type { PageSettings } from './settings.ts'
import { stringsOf } from './strings/strings.ts'

/** YYYYMMDDTHHMMSSZ */
const utc = (time: Date): string => time.toISOString().replace(/[-:]|\.\d{3}/g, '')

/** RFC 5545, 3.3.11 */
const escaped = (text: string): string =>
  text
    .replace(/[\\;,]/g, '\\$&')
    .replace(/\r\n?|\n/g, '\\n')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a text must not contain them
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, ' ')

/** RFC 5545, 3.1: a line has at most 75 bytes, and is continued behind a blank. */
function folded(line: string): string {
  const lines = ['']
  let bytes = 0
  for (const character of line) {
    const size = Buffer.byteLength(character)
    if (bytes + size > 75) {
      lines.push(' ')
      bytes = 1
    }
    lines[lines.length - 1] += character
    bytes += size
  }
  return lines.join('\r\n')
}

/** A calendar file with the time at which a claim opens, and an alarm then. */
export function calendarFile({ at, name, key }: CalendarEntry, settings: PageSettings): string {
  const { calendar } = stringsOf(settings)
  const summary = escaped(name === '' ? calendar.description : calendar.summary({ name }))
  const description = escaped(calendar.description)
  const opens = new Date(at * 1000)
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Tapchip//Tap page//EN',
    'CALSCALE:GREGORIAN',
    'METHOD:PUBLISH',
    'BEGIN:VEVENT',
    // The same in each copy, so that a calendar has it once.
    `UID:${key}@${new URL(settings.home).hostname}`,
    `DTSTAMP:${utc(settings.now)}`,
    `DTSTART:${utc(opens)}`,
    'DURATION:PT15M',
    `SUMMARY:${summary}`,
    `DESCRIPTION:${description}`,
    'TRANSP:TRANSPARENT',
    'BEGIN:VALARM',
    'ACTION:DISPLAY',
    `DESCRIPTION:${summary}`,
    'TRIGGER:PT0S',
    'END:VALARM',
    'END:VEVENT',
    'END:VCALENDAR',
  ]
  return `${lines.map(folded).join('\r\n')}\r\n`
}
