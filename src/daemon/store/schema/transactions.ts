import type { Generated } from 'kysely'

// Amounts of wei and counters of contracts are decimal text: they do not fit a number.

/** An intended transaction: recorded before anything is signed, and never deleted. */
export interface TransactionsTable {
  id: Generated<number>
  /** null: the daemon's own. */
  teamId: number | null
  chainId: number
  /** Which of the chain's signers sends it: `relayer`. */
  signer: string
  /** For example `phygital-transfer`. */
  kind: string
  /** A later transaction with the same topic supersedes it; for example `token:1/0x…/7`. */
  topic: string | null
  /** JSON for people: what it is about. */
  subject: string
  createdAt: string
  updatedAt: string
  /** null: creates a contract, or its builder has not said yet. */
  to: string | null
  data: string | null
  /** null: estimated when it is signed. */
  gas: number | null
  /** Provides `to` and `data` when it is signed. */
  builder: string | null
  /** JSON for the builder. */
  args: string | null
  /** chain/relayer/transaction.ts says what each means. */
  state: TransactionStateName
  /** The address whose nonce it has, and the nonce; null again when it is to be signed anew. */
  sender: string | null
  nonce: number | null
  /** A counter on the chain that it was signed for, and the value of it. */
  sequence: string | null
  sequenceValue: string | null
  /** The first attempt ever signed. */
  firstHash: string | null
  /** The attempt that was mined, and where. */
  minedHash: string | null
  blockHash: string | null
  blockNumber: number | null
  succeeded: 0 | 1 | null
  reason: string | null
  /** The reason for which it does not progress. */
  waiting: 'fees' | 'funds' | 'gas-estimate' | 'builder' | 'node' | null
  /** The number of nonces that it took. */
  signings: number
  /** Set: its nonce is to be filled with an empty transaction. */
  abandonedBecause: string | null
  settledAt: string | null
}

export type TransactionStateName =
  | 'queued'
  | 'signed'
  | 'broadcast'
  | 'mined'
  | 'confirmed'
  | 'reverted'
  | 'cancelled'

/** The log of what was signed, written before it is sent. Any of them can be the one that is mined. */
export interface TransactionAttemptsTable {
  id: Generated<number>
  transactionId: number
  /** A filler has no effect: it uses a nonce up. */
  purpose: 'effect' | 'filler'
  hash: string
  /** The signed transaction, hex. */
  raw: string
  sender: string
  nonce: number
  gas: number
  maxFeePerGas: string
  maxPriorityFeePerGas: string
  signedAt: string
  /** When a node first said that it has it. */
  sentAt: string | null
  /** The last error from the node or the network. */
  error: string | null
}

/** The next nonce of each sender, and which process may sign for it. */
export interface SendersTable {
  chainId: number
  address: string
  nextNonce: number
  leaseHolder: string
  leaseUntil: string
}

/** First answers to requests that are repeated. A row is there exactly if an intent was recorded. */
export interface IdempotencyKeysTable {
  scope: string
  key: string
  requestHash: string
  transactionId: number | null
  /** JSON; null while the first request runs, or for ever where it was killed. */
  answer: string | null
  createdAt: string
  expiresAt: string
}
