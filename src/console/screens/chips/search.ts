import { parseUid } from '../../../nfc/uid.ts'
import type { RequestOf } from '../../api.ts'

type Query = NonNullable<RequestOf<'GET /admin/chips'>['query']>

/**
 * The question that somebody types: a UID in any notation, `item:ID`, a token as chain:contract/id, or the beginning of
 * a label.
 */
export function questionOf(typed: string): Partial<Query> {
  const text = typed.trim()
  if (text === '') return {}
  const [, item] = /^item:\s*(\S+)$/i.exec(text) ?? []
  if (item !== undefined) return { item }
  const [, chainId, contractAddress, tokenId] =
    /^(?:(\d{1,15}):)(0x[0-9a-fA-F]{40})[/#:](\d{1,78})$/.exec(text) ?? []
  if (chainId !== undefined && contractAddress !== undefined && tokenId !== undefined)
    return { chainId, contractAddress, tokenId }
  const uid = parseUid(text)
  // Labels are digits at times: only what cannot be one is a UID for certain.
  return uid.ok && (/^(04|08)/i.test(text) || text.length > 12) ? { uid: uid.uid } : { label: text }
}
