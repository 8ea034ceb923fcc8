import type { Chains } from '../../chain/chains.ts'
import { NotSignedYet } from '../../chain/relayer/errors.ts'
import { type Idempotency, IdempotencyConflict, type KeyedRequest } from '../chain/transactions.ts'
import { DomainError, type ErrorCode, storeFailure } from '../errors/errors.ts'
import { broadcastHash } from './transfer.ts'

/** The outcome of a row that is a single transaction. */
type SentRow =
  | { status: 'sent'; hash: string }
  /** Recorded and sent when there is room; it has no hash yet. */
  | { status: 'queued' }
  /** There was nothing to record. */
  | { status: 'skipped' }
  | { status: 'failed'; error: string; code: ErrorCode; transactionId?: number | undefined }

interface SendDeps {
  chains: Chains
  idempotency: Idempotency
}

/** The transaction of a row, recorded once under its key. @param record returns it */
export async function sendRow(
  deps: SendDeps,
  claim: KeyedRequest | undefined,
  record: () => Promise<number>,
): Promise<Exclude<SentRow, { status: 'skipped' }>> {
  const sent = await sendRowUnless(deps, claim, record)
  if (sent.status === 'skipped') throw new Error('the row was to be recorded')
  return sent
}

/** Used in place of a hash. */
const skipped = ''

/** Likewise, but returns undefined if a check finds that there is nothing to record. */
export async function sendRowUnless(
  deps: SendDeps,
  claim: KeyedRequest | undefined,
  record: () => Promise<number | undefined>,
): Promise<SentRow> {
  let transactionId: number | undefined
  try {
    const hash = await deps.idempotency.run<string>({
      claim,
      run: async (recorded) => {
        transactionId = await record()
        if (transactionId === undefined) return skipped
        recorded()
        return hashOf(deps, transactionId)
      },
      resume: (id) => {
        transactionId = id ?? undefined
        return hashOf(deps, id)
      },
      answer: { parse: String },
    })
    return hash === skipped ? { status: 'skipped' } : { status: 'sent', hash }
  } catch (error) {
    if (waitOf(error)) return { status: 'queued' }
    if (error instanceof IdempotencyConflict)
      return { status: 'failed', error: error.message, code: 'idempotency_conflict' }
    // Other rows may have been recorded, so each row reports its own error.
    const progress = { isWritten: transactionId !== undefined, transactionId, isKeyed: claim !== undefined }
    const known = storeFailure(error, progress) ?? (error instanceof DomainError ? error : undefined)
    if (!known) throw error
    const { message, code, detail } = known
    return { status: 'failed', error: message, code, transactionId: detail.transactionId }
  }
}

/** Set if the transaction is recorded but has no hash yet. */
const waitOf = (error: unknown): NotSignedYet | undefined => {
  const cause = error instanceof DomainError ? error.detail.cause : undefined
  return cause instanceof NotSignedYet ? cause : undefined
}

/**
 * Number of attempts of about five seconds each, for a row that only waits for room in a block; blocks rarely take a
 * minute.
 */
const maxRetries = 16

async function hashOf({ chains }: { chains: Chains }, transactionId: number | null): Promise<string> {
  for (let left = maxRetries; ; left -= 1) {
    try {
      return await broadcastHash(chains, transactionId)
    } catch (error) {
      const wait = waitOf(error)
      // High fees or an unreachable node can take hours.
      if (left === 0 || wait === undefined || wait.waiting !== null) throw error
    }
  }
}
