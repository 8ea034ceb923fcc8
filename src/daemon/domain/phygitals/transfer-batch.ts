import type { KeyedMutex } from '../../../values/keyed-mutex.ts'
import { NotSignedYet } from '../../chain/relayer/errors.ts'
import type { Actor } from '../../store/audit.ts'
import { type Idempotency, IdempotencyConflict, type KeyedRequest } from '../chain/transactions.ts'
import { DomainError, type ErrorCode, storeFailure } from '../errors.ts'
import { chipOfTeam, isChip, mapConcurrently, type RowTarget } from './batch-row.ts'
import type { TransferDeps } from './target.ts'
import { transferred, transferToken, transferTokenOfChip } from './transfer.ts'

export interface TransferRow {
  row: number
  target: RowTarget
  recipient: string
  /** Makes a repeated row the same transfer. */
  claim: KeyedRequest | undefined
}

type TransferResult =
  | { row: number; status: 'transferred'; initialTxHash: string }
  /** Recorded and sent when there is room; it has no hash yet. */
  | { row: number; status: 'queued' }
  | { row: number; status: 'failed'; error: string; code: ErrorCode; transactionId?: number | undefined }

type BatchDeps = TransferDeps & {
  idempotency: Idempotency
  /** Chips without a token take their IDs one at a time. */
  minting: KeyedMutex
}

interface Caller {
  teamId: number
  actor: Actor
}

const atOnce = 128

/** Transfers rows concurrently; a bad row fails alone. @returns one result per row, in order */
export const transferRows = (
  deps: BatchDeps,
  caller: Caller,
  rows: AsyncIterable<TransferRow>,
): AsyncGenerator<TransferResult> => mapConcurrently(rows, atOnce, (row) => transferRow(deps, caller, row))

async function transferRow(deps: BatchDeps, caller: Caller, wanted: TransferRow): Promise<TransferResult> {
  const { row, claim } = wanted
  let transactionId: number | undefined
  try {
    const hash = await deps.idempotency.once<string>({
      claim,
      run: async (recorded) => {
        transactionId = await record(deps, caller, wanted)
        recorded()
        return hashOf(deps, transactionId)
      },
      resume: (id) => {
        transactionId = id ?? undefined
        return hashOf(deps, id)
      },
      answer: { parse: String },
    })
    return { row, status: 'transferred', initialTxHash: hash }
  } catch (error) {
    if (waitOf(error)) return { row, status: 'queued' }
    if (error instanceof IdempotencyConflict)
      return { row, status: 'failed', error: error.message, code: 'idempotency_conflict' }
    // Other rows may have been recorded, so each row reports its own error.
    const progress = { isWritten: transactionId !== undefined, transactionId, isKeyed: claim !== undefined }
    const known = storeFailure(error, progress) ?? (error instanceof DomainError ? error : undefined)
    if (known) {
      const { transactionId } = known.detail
      return { row, status: 'failed', error: known.message, code: known.code, transactionId }
    }
    throw error
  }
}

async function record(
  deps: BatchDeps,
  { teamId, actor }: Caller,
  { target, recipient, claim }: TransferRow,
): Promise<number> {
  const asking = { teamId, actor, idempotency: claim }
  if (!isChip(target)) return transferToken(deps, asking, { ...target, recipient })
  const move = () => transferTokenOfChip(deps, asking, { uid: target.uid, recipient })
  const { tokenRow, itemId } = await chipOfTeam(deps, teamId, target.uid)
  return tokenRow === null ? deps.minting.run(`${teamId}/${itemId}`, move) : move()
}

/** Set if the transaction is recorded but has no hash yet. */
const waitOf = (error: unknown): NotSignedYet | undefined => {
  const cause = error instanceof DomainError ? error.detail.cause : undefined
  return cause instanceof NotSignedYet ? cause : undefined
}

/** Attempts of about five seconds for a row that waits only for room in a block; blocks rarely take a minute. */
const maxRetries = 16

async function hashOf(deps: BatchDeps, transactionId: number | null): Promise<string> {
  for (let left = maxRetries; ; left -= 1) {
    try {
      return (await transferred(deps, transactionId)).hash
    } catch (error) {
      const wait = waitOf(error)
      // High fees or an unreachable node can take hours.
      if (left === 0 || wait === undefined || wait.waiting !== null) throw error
    }
  }
}
