import { timingSafeEqual } from 'node:crypto'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { notFound } from '../errors/errors.ts'

/** An entry for the time at which a claim opens. It has nothing that allows anything, so its link may be seen. */
export interface CalendarEntry {
  /** Seconds since 1970. */
  at: number
  /** Of the piece; empty if it has none. */
  name: string
  /** The same for the same entry, and known to this daemon alone. */
  key: string
}

interface Deps {
  box: SecretBox
}

/** By code points. A longer name would make the address longer than some calendars take. */
const maxName = 80

const keyOf = ({ box }: Deps, at: number, name: string): string =>
  box.keyedHash(JSON.stringify([at, name]), 'calendar entry of a tap page').slice(0, 22)

/** @param opensAt ISO 8601 @returns the query of the entry's address */
export function calendarQuery(deps: Deps, opensAt: string, pieceName: string | undefined): string {
  // Calendars count in seconds; a moment too early would be refused.
  const at = Math.ceil(Date.parse(opensAt) / 1000)
  const name = [...(pieceName ?? '').trim().toWellFormed()].slice(0, maxName).join('')
  return new URLSearchParams({ at: String(at), name, key: keyOf(deps, at, name) }).toString()
}

/**
 * Reads only what this daemon has signed: others could have their own texts shown under its address.
 * @throws DomainError not_found
 */
export function calendarEntry(deps: Deps, query: Readonly<Record<string, unknown>>): CalendarEntry {
  const { at, name, key } = query
  if (typeof at !== 'string' || !/^\d{1,11}$/.test(at) || typeof name !== 'string' || typeof key !== 'string')
    throw notFound('calendar entry')
  const [expected, given] = [Buffer.from(keyOf(deps, Number(at), name)), Buffer.from(key)]
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) throw notFound('calendar entry')
  return { at: Number(at), name, key }
}
