import type { ItemView } from '../domain/chips/items.ts'

// Shapes that several resources show alike.

/** A token reference as the wire has it, without what else the object carries. */
export const tokenOnWire = (token: { contractAddress: string; chainId: number; tokenId: string }) => ({
  contractAddress: token.contractAddress,
  chainId: token.chainId,
  tokenId: token.tokenId,
})

/** A guestbook contract's address is null while nothing is there. */
export const shownAddress = (event: {
  address: string
  contractStatus: 'pending' | 'confirmed'
}): string | null => (event.contractStatus === 'confirmed' ? event.address : null)

/** Metadata as it was stored; checked when it was written. */
export function parseMetadata(json: string): Record<string, unknown> {
  const value: unknown = JSON.parse(json)
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

export const itemToWire = (item: ItemView) => ({ ...item, featuredMedia: item.media[0] ?? null })
