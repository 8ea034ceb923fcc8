import { isJsonObject } from '../../../values/json.ts'

/** A row's planned or actual result; kinds add their own members. */
export interface Result {
  readonly [member: string]: unknown
  readonly row: number
  readonly status?: string | undefined
  readonly error?: string | undefined
}

export interface Change {
  readonly name: string
  readonly from: unknown
  readonly to: unknown
}

const isChange = (value: unknown): value is { from?: unknown; to?: unknown } =>
  isJsonObject(value) && ('from' in value || 'to' in value)

/** Old and new values, planned or written. */
export function changesIn(result: Result): Change[] {
  const { changes } = result
  if (isJsonObject(changes))
    return Object.entries(changes).flatMap(([name, change]) =>
      isChange(change) ? [{ name, from: change.from, to: change.to }] : [],
    )
  const pairs = [
    ['redirectUrl', 'previous', 'redirectUrl'],
    ['metadata', 'previous', 'metadata'],
    ['owner', 'owner', 'recipient'],
    ['recipient', '', 'recipient'],
    ['assigned', 'previous', 'left'],
  ] as const
  for (const [name, from, to] of pairs)
    if (to in result && (from === '' || from in result))
      return [{ name, from: from === '' ? undefined : result[from], to: result[to] }]
  return []
}

/** Text of a cell. */
export function shownValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** The chip, token, item or event that a row is about. */
export function subjectOf(result: Result): { readonly text: string; readonly uid: string | undefined } {
  const { uid, token, id, name, badgeEventId, guestbookEventId, contractAddress, tokenId } = result
  const event = badgeEventId ?? guestbookEventId
  if (typeof uid === 'string') return { text: event === undefined ? '' : `#${String(event)}`, uid }
  const at = isJsonObject(token) ? token : { contractAddress, tokenId }
  if (typeof at.contractAddress === 'string')
    return { text: `${shortened(at.contractAddress)} #${shownValue(at.tokenId)}`, uid: undefined }
  return {
    text: [name, id]
      .filter((one) => one !== undefined)
      .map(String)
      .join(' · '),
    uid: undefined,
  }
}

const shortened = (address: string): string =>
  address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address
