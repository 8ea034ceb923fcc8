import type { Generated } from 'kysely'
import type { WaitingReason } from '../../../values/waiting-reason.ts'

// Wei and contract counters are decimal text, because they exceed safe integers.

/** Recorded before it is signed, and never deleted. */
export interface TransactionsTable {
  id: Generated<number>
  /** null: the daemon's own. */
  teamId: number | null
  chainId: number
  /** Signer name, such as `relayer`. It changes only while the intent has never been signed. */
  signer: string
  /** Names of the signers that may send it, each between spaces. null: its signer alone. */
  candidates: string | null
  kind: string
  /** Later transactions with the same topic supersede it. Example: `token:1/0x…/7`. */
  topic: string | null
  /** JSON description for people. */
  subject: string
  createdAt: string
  updatedAt: string
  /** null: creates a contract, or the builder has not run yet. */
  to: string | null
  data: string | null
  /** null: estimated when signed. */
  gas: number | null
  /** Provides `to` and `data` when it is signed. */
  builder: string | null
  /** JSON for the builder. */
  args: string | null
  /** See chain/relayer/transaction.ts. */
  state: TransactionStateName
  /** Address and nonce; null again if it must be signed again. */
  sender: string | null
  nonce: number | null
  /** Name of the contract counter that it advances, and the value that it was signed for. */
  sequence: string | null
  sequenceValue: string | null
  firstHash: string | null
  minedHash: string | null
  blockHash: string | null
  blockNumber: number | null
  succeeded: 0 | 1 | null
  reason: string | null
  waiting: WaitingReason | null
  /** Details of `waiting`, such as the node's own message. */
  waitingWords: string | null
  signings: number
  /** The latest block when it was signed; its call cannot have been sent before. */
  signedBlock: number | null
  /** If set, an empty transaction must fill the nonce. */
  abandonedBecause: string | null
  settledAt: string | null
  /** The final state last reported to webhooks. Reported once, though a reorganization may undo and repeat it. */
  toldAs: 'confirmed' | 'failed' | null
  /** 1: from a backup, so it may have been sent since: its effect is looked for before it is signed. */
  isRestored: Generated<number>
  /** The transaction that sends it together with others. Its state follows that one's, which alone has attempts. */
  groupId: Generated<number | null>
}

export type TransactionStateName =
  | 'queued'
  | 'signed'
  | 'broadcast'
  | 'mined'
  | 'confirmed'
  | 'reverted'
  | 'cancelled'

/** Written before sending. Any attempt may be mined. */
export interface TransactionAttemptsTable {
  id: Generated<number>
  transactionId: number
  /** `filler`: only uses a nonce. */
  purpose: 'effect' | 'filler'
  hash: string
  raw: string
  sender: string
  nonce: number
  gas: number
  maxFeePerGas: string
  maxPriorityFeePerGas: string
  signedAt: string
  /** First acceptance by a node. */
  sentAt: string | null
  error: string | null
}

export type SenderJam = Extract<WaitingReason, 'fees' | 'funds' | 'signer' | 'node' | 'block'>

/** Changed only by the holder of the sender's lease; see store/lease/lease.ts. */
export interface SendersTable {
  chainId: number
  address: string
  nextNonce: number
  /** Why nothing is mined for it. null: nothing holds it up. */
  jam: SenderJam | null
  /** Of the last webhook that its money runs out. */
  lowReportedAt: string | null
}

/** Which key of a remote signer a relayer has. Kept, since the signer may list its keys in another order, or be down. */
export interface SignerKeysTable {
  chainId: number
  /** As in `transactions.signer`. */
  name: string
  /** 0x and 128 lower-case hex digits. */
  publicKey: string
  /** Host and port of the signer that listed it. */
  host: string
}

/** A row exists if and only if an intent was recorded. */
export interface IdempotencyKeysTable {
  scope: string
  key: string
  requestHash: string
  transactionId: number | null
  /** JSON; null while the first request runs, and permanently if it was killed. */
  answer: string | null
  createdAt: string
  expiresAt: string
}
