import { parseExact } from '../../values/json.ts'
import type { Listener } from './address.ts'
import { readApiError } from './errors.ts'

export const parseAnswer = (text: string, wireBadge: string, status: number, listener: Listener): unknown => {
  try {
    const value: unknown = parseExact(text)
    return wireBadge === 'badge' ? value : neutral(value, wireBadge)
  } catch {
    throw readApiError(status, undefined, '', listener)
  }
}

/** A daemon with other wire words names `badgeEvents` differently; scripts see one name. */
const neutral = (value: unknown, wireBadge: string): unknown => {
  if (typeof value !== 'object' || value === null) return value
  for (const suffix of ['Event', 'Events']) {
    const descriptor = Object.getOwnPropertyDescriptor(value, wireBadge + suffix)
    if (!descriptor) continue
    Object.defineProperty(value, `badge${suffix}`, descriptor)
    Reflect.deleteProperty(value, wireBadge + suffix)
  }
  return value
}

export const parseLine = (line: string, listener: Listener): unknown => {
  // A stream that fails after its headers were sent can only report it in a line.
  const status = /^\{"statusCode":(\d{3}),/.exec(line)?.[1]
  if (status !== undefined) throw readApiError(Number(status), undefined, line, listener)
  try {
    return parseExact(line)
  } catch {
    throw readApiError(500, undefined, '', listener)
  }
}
