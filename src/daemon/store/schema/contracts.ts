import type { Generated } from 'kysely'

export interface ContractsTable {
  id: Generated<number>
  teamId: number
  kind: 'phygital' | 'guestbook'
  symbol: string
  name: string
  chainId: number
  /** EIP-55. Before deployment, the future address. */
  address: string
  status: 'pending' | 'confirmed'
  twoTapDelaySeconds: number | null
  twoTapWindowSeconds: number | null
  /** Deployment; null if registered by address or not deployed yet. */
  transactionId: number | null
  /** Base URL of this service in the contract. */
  serviceUrl: string | null
  urlTransactionId: number | null
  /** Highest token ID assigned for minting, decimal. */
  lastTokenId: string | null
  /** Reason why the contract is missing or not ours; null if none is known. */
  problem: string | null
  /** 1: the address is derived from the deployed code, so it can never hold other code. */
  isBound: Generated<number>
  /** JSON of `ContractCalls`; null: its tokens move by signed claims. */
  calls: string | null
  /** What marketplaces show of it (ERC-7572). Null: nothing. */
  description: string | null
  image: string | null
  banner: string | null
  externalLink: string | null
  /** Hundredths of a percent, as the contract was last told; null: no royalty. */
  royaltyBasisPoints: number | null
  /** EIP-55 */
  royaltyReceiver: string | null
  /** 1: a change of these is to be announced when the team has budget again. */
  isRefreshPostponed: number | null
  createdAt: string
}

export interface TokensTable {
  id: Generated<number>
  contractId: number
  /** uint256 in decimal. */
  tokenId: string
  /** First owner, from a seed. The chain knows later owners. */
  owner: string | null
  mintTransactionId: number | null
  /** When a code of a tap last claimed it; null: never, as far as is known. */
  claimedAt: string | null
  /** JSON of marketplace metadata. */
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

/** Future owners of tokens, for contracts that require a second tap. */
export interface ClaimRegistrationsTable {
  tokenRow: number
  /** EIP-55 */
  recipient: string
  /** null: registered by the team with an API key. */
  tapId: number | null
  allowedAt: string
  expiresAt: string
  createdAt: string
}

/** Used signatures of owners. They expire on their own. */
export interface UsedSignaturesTable {
  /** Digest of the signed data, so that another signature of the same data counts as used. */
  digest: string
  expiresAt: string
}

/** Relayers besides the first that may call a contract of ours which only accepts known callers. */
export interface ContractRelayersTable {
  contractId: number
  address: string
  /** The call that tells the contract. */
  transactionId: number
  confirmedAt: string | null
}

/** Metadata changes that the contract announces when the team has budget again. */
export interface DeferredAnnouncementsTable {
  contractId: number
  tokenId: string
}

export interface MarketplaceRefreshesTable {
  id: Generated<number>
  chainId: number
  contract: string
  tokenId: string
  dueAt: string
  reason: string | null
  doneAt: string | null
  givenUpAt: string | null
  createdAt: string
}
