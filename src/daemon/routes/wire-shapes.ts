import type { ItemView } from '../domain/chips/items.ts'

/** Copies only the reference from a larger object. */
export const tokenOnWire = (token: { contractAddress: string; chainId: number; tokenId: string }) => ({
  contractAddress: token.contractAddress,
  chainId: token.chainId,
  tokenId: token.tokenId,
})

/** A guestbook contract's address is null until it is deployed. */
export const shownAddress = (event: {
  address: string
  contractStatus: 'pending' | 'confirmed'
}): string | null => (event.contractStatus === 'confirmed' ? event.address : null)

/** Stored JSON, validated when written. */
export function parseMetadata(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

export const itemToWire = (item: ItemView) => ({ ...item, featuredMedia: item.media[0] ?? null })
