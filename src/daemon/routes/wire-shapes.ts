import { type JsonObject, parseObject } from '../../values/json.ts'
import type { ItemView } from '../domain/chips/items.ts'

/** Copies the named fields only, so that no hash or key can slip into an answer. */
export function pick<T extends object, K extends keyof T>(from: T, ...names: K[]): Pick<T, K> {
  // Filled with just these names below.
  const picked = {} as Pick<T, K>
  for (const name of names) picked[name] = from[name]
  return picked
}

/** Copies only the reference from a larger object. */
export const tokenOnWire = (token: { contractAddress: string; chainId: number; tokenId: string }) =>
  pick(token, 'contractAddress', 'chainId', 'tokenId')

/** A guestbook contract's address is null until it is deployed. */
export const shownAddress = (event: {
  address: string
  contractStatus: 'pending' | 'confirmed'
}): string | null => (event.contractStatus === 'confirmed' ? event.address : null)

/** Stored JSON, validated when written. */
export const storedObject = (json: string): JsonObject => parseObject(json) ?? {}

export const itemToWire = (item: ItemView) => ({ ...item, featuredMedia: item.media[0] ?? null })
