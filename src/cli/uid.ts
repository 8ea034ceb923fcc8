import { parseUid, uidToColons } from '../nfc/uid.ts'
import { showInvisible } from '../values/invisible.ts'
import { UsageError } from './errors.ts'

/** @returns the UID in decimal. @throws UsageError */
export const readUid = (text: string, where = 'The UID'): string => {
  const parsed = parseUid(text.trim())
  if (parsed.ok) return parsed.uid
  throw new UsageError(`${where} "${showInvisible(text)}" ${parsed.reason}.`)
}

export const bothForms = (uid: string): string => `${uid} (${colons(uid)})`

/** `-` if there is no UID. */
export const colons = (uid: string | null): string =>
  uid !== null && /^\d{1,17}$/.test(uid) ? uidToColons(uid) : '-'

export const isSameUid = (typed: string, uid: string): boolean => {
  const parsed = parseUid(typed)
  return parsed.ok && parsed.uid === uid
}
