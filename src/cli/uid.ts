import { parseUid, uidToColons, uidToHex } from '../nfc/uid.ts'
import { UsageError } from './errors.ts'

/** A UID that a person typed, in decimal. */
export const readUid = (text: string, where = 'The UID'): string => {
  const parsed = parseUid(text.trim())
  if (parsed.ok) return parsed.uid
  throw new UsageError(`${where} "${text}" ${parsed.reason}.`)
}

/** A decimal UID as it goes to the daemon. One of 14 digits would be read as hex there, so it goes in hex. */
export const uidOnWire = (uid: string): string => (uid.length === 14 ? uidToHex(uid) : uid)

/** Both forms, for people. */
export const bothForms = (uid: string): string => `${uid} (${colons(uid)})`

/** `-` where a daemon's answer holds no UID. */
export const colons = (uid: string | null): string =>
  uid !== null && /^\d{1,17}$/.test(uid) ? uidToColons(uid) : '-'

/** Whether a person typed this UID, in either form. */
export const isSameUid = (typed: string, uid: string): boolean => {
  const parsed = parseUid(typed)
  return parsed.ok && parsed.uid === uid
}
