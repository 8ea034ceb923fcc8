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
  /** Its deployment; null for one registered by its address, or while there is no chain to deploy it to. */
  transactionId: number | null
  /** The base address of this service that the contract was last told. */
  serviceUrl: string | null
  /** The transaction that gives it another base URL. */
  urlTransactionId: number | null
  /** The highest token id that was given out for minting, decimal. */
  lastTokenId: string | null
  /** Why it is not there, or not ours, for people; null as long as nothing is known to be wrong. */
  problem: string | null
  /** 1: its address comes from all that is deployed there, so that nothing else can ever be there. */
  isBound: Generated<number>
  createdAt: string
}

export interface TokensTable {
  id: Generated<number>
  contractId: number
  /** uint256 in decimal. */
  tokenId: string
  /** To whom a seed has it minted. Who owns it afterwards, the chain alone says. */
  owner: string | null
  /** Its mint, if that was asked for here. */
  mintTransactionId: number | null
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

/** Announces who will receive a token, for contracts that ask for a second tap. */
export interface ClaimRegistrationsTable {
  tokenRow: number
  /** EIP-55 */
  recipient: string
  /** The tap whose code registered; null: the team did, by key. */
  tapId: number | null
  allowedAt: string
  expiresAt: string
  createdAt: string
}

/** Owners' signatures that were used, until they expire by themselves. */
export interface UsedSignaturesTable {
  /** The digest of the signed data, so that a second signature of the same data counts as the first. */
  digest: string
  expiresAt: string
}

/** Changed metadata that its contract is still to announce, once its team's budget lets it. */
export interface DeferredAnnouncementsTable {
  contractId: number
  tokenId: string
  createdAt: string
}

/** Tells marketplaces to read a token's metadata again. */
export interface MarketplaceRefreshesTable {
  id: Generated<number>
  chainId: number
  contract: string
  tokenId: string
  dueAt: string
  /** The error of the last attempt. */
  reason: string | null
  doneAt: string | null
  givenUpAt: string | null
  createdAt: string
}
