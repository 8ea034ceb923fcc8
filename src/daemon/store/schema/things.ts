import type { Generated } from 'kysely'

export interface ContractsTable {
  id: Generated<number>
  teamId: number
  kind: 'phygital' | 'guestbook'
  symbol: string
  name: string
  chainId: number
  /** EIP-55. For a contract that is not deployed yet: where it will be. */
  address: string
  status: 'pending' | 'confirmed'
  twoTapDelaySeconds: number | null
  twoTapWindowSeconds: number | null
  createdAt: string
}

export interface TokensTable {
  id: Generated<number>
  contractId: number
  /** uint256 in decimal. */
  tokenId: string
  owner: string | null
  /** JSON, a marketplace's metadata. */
  metadata: string | null
  createdAt: string
}

export interface ItemsTable {
  teamId: number
  id: string
  name: string
  description: string
  imageUrl: string
  contractId: number | null
  /** JSON: { mimeType, url }[] */
  media: string
  /** JSON: { name, values }[] */
  attributes: string
  /** JSON: { id, attributes: { name, value }[] }[] */
  variants: string
  createdAt: string
}
