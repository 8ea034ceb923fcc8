import { decimalReading, parseUid } from '../../../../nfc/uid.ts'
import { isInstant, readMoment } from '../../../../values/date.ts'
import { isJsonObject, type JsonObject } from '../../../../values/json.ts'
import type { NumberedRow } from '../kind.ts'

// Lines are parsed by hand: a schema would take longer than the rest of a row.

/** Must be able to follow "Row 5: ". */
export class LineProblem extends Error {}

/** @param read @throws LineProblem */
export const lineReader =
  <R extends NumberedRow, Run>(read: (line: JsonObject, row: number, run: Run) => R) =>
  (line: unknown, run: Run): { value: R } | { problem: string } => {
    try {
      if (!isJsonObject(line)) throw new LineProblem('must be an object')
      const { row } = line
      if (typeof row !== 'number' || !Number.isSafeInteger(row) || row < 1)
        throw new LineProblem('row must be a whole number from 1')
      return { value: read(line, row, run) }
    } catch (error) {
      if (error instanceof LineProblem) return { problem: error.message }
      throw error
    }
  }

/** @throws LineProblem */
export function refuseOthers(line: JsonObject, known: ReadonlySet<string>): void {
  for (const name in line)
    if (!known.has(name))
      throw new LineProblem(`${name} is not a known field; fields are ${[...known].join(', ')}`)
}

/** Parses a UID: decimal, with its other possible reading. @throws LineProblem */
export function uidsIn({ uid }: JsonObject): readonly string[] {
  if (typeof uid !== 'string') throw new LineProblem('uid must be text')
  const parsed = parseUid(uid)
  if (!parsed.ok) throw new LineProblem(`uid ${parsed.reason}`)
  const reading = decimalReading(parsed.uid)
  return reading === undefined ? [parsed.uid] : [parsed.uid, reading]
}

/** @throws LineProblem */
export function idIn(line: JsonObject, name: string): number {
  const id = line[name]
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1)
    throw new LineProblem(`${name} must be a whole number from 1`)
  return id
}

/** @throws LineProblem */
export function textIn(line: JsonObject, name: string, max: number): string | undefined {
  const text = line[name] ?? undefined
  if (text === undefined) return undefined
  if (typeof text !== 'string') throw new LineProblem(`${name} must be text`)
  if (text.length > max) throw new LineProblem(`${name} must be at most ${max} characters`)
  if (text.includes('\0') || !text.isWellFormed())
    throw new LineProblem(`${name} must not contain NUL or broken Unicode`)
  return text
}

/** ISO 8601 in UTC. @throws LineProblem */
export function instantIn(line: JsonObject, name: string): string | null {
  const text = textIn(line, name, 64)
  if (text === undefined || text === '') return null
  const read = isInstant(text) ? readMoment(text) : undefined
  if (read === undefined)
    throw new LineProblem(`${name} must be an existing time with its zone, as YYYY-MM-DDTHH:mm:ssZ`)
  return read
}

/** A failure for a chip whose event an earlier row has. @param seen rows by event and chip, to which this one is added */
export function repeatedEvent(
  { row, uid }: { row: number; uid: string },
  event: number,
  seen: Map<string, number>,
): { status: 'failed'; error: string } | undefined {
  const key = `${event} ${uid}`
  const before = seen.get(key) ?? row
  seen.set(key, before)
  return before === row
    ? undefined
    : { status: 'failed', error: `The chip already has the event in row ${before}.` }
}
