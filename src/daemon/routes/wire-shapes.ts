import { isJsonObject, type JsonObject, parseObject } from '../../values/json.ts'
import type { ItemView } from '../domain/chips/items.ts'
import type { FoundChip } from '../domain/taps/find-chip.ts'

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

export const foundChipOnWire = ({ uid, isValidTap, token, otp, badgeEvent }: FoundChip) => ({
  uid,
  isValidTap,
  ...(token ? { linkedToken: tokenOnWire(token) } : {}),
  ...(otp ? { otp } : {}),
  ...(badgeEvent
    ? {
        badgeEvent: {
          id: badgeEvent.id,
          poapEventId: badgeEvent.upstreamId,
          remainingCodesCount: badgeEvent.remainingCodes,
        },
      }
    : {}),
})

/** A guestbook contract's address is null until it is deployed. */
export const shownAddress = (event: {
  address: string
  contractStatus: 'pending' | 'confirmed'
}): string | null => (event.contractStatus === 'confirmed' ? event.address : null)

/** Stored JSON, validated when written. */
export const storedObject = (json: string): JsonObject => parseObject(json) ?? {}

/** Metadata as stored, plus every field that the interface lists, because clients read them without checking. */
export function marketplaceMetadata(json: string) {
  const stored = storedObject(json)
  const text = (name: string) => String(stored[name] ?? '')
  const attributes = Array.isArray(stored.attributes) ? stored.attributes.filter(isJsonObject) : []
  return {
    ...stored,
    name: text('name'),
    description: text('description'),
    image: text('image'),
    external_url: text('external_url'),
    attributes: attributes.map(({ trait_type, value, ...rest }) => ({ trait_type, value, ...rest })),
  }
}

export const itemToWire = (item: ItemView) => ({ ...item, featuredMedia: item.media[0] ?? null })
