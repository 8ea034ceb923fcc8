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
  /** What deploys it; null where it was registered by its address, or where no chain was there to deploy it to. */
  transactionId: number | null
  /** The base address of this service that the contract was last told. */
  serviceUrl: string | null
  /** What tells it another one. */
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
  /** What mints it, if that was asked for here. */
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
  /** What was signed, so that another signature of the same words is the same one. */
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
  /** What the last attempt ran into. */
  reason: string | null
  doneAt: string | null
  givenUpAt: string | null
  createdAt: string
}
