import { getAddress } from 'viem/utils'
import type { KeyedMutex } from '../../../values/semaphore.ts'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { moveUnderWay } from '../../store/chain/listing.ts'
import type { Db } from '../../store/database/database.ts'
import { findToken, type LocatedToken } from '../../store/phygitals/tokens.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import type { Idempotency, KeyedRequest } from '../chain/transactions.ts'
import type { ErrorCode } from '../errors/errors.ts'
import type { CurrentToken } from './batch-row.ts'
import { chipOfTeam, isChip, mapConcurrently, type RowTarget } from './batch-row.ts'
import { sendRow } from './send-row.ts'
import { type TransferDeps, tokenOfTeam } from './target.ts'
import { transferToken, transferTokenOfChip } from './transfer.ts'

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

export type BatchTransferDeps = TransferDeps & {
  idempotency: Idempotency
  /** Chips without a token take their IDs one at a time. */
  minting: KeyedMutex
}

interface Caller {
  teamId: number
  actor: Actor
}

const batchSize = 128

/** Transfers rows concurrently; they fail independently. @returns one result per row, in order */
export const transferRows = (
  deps: BatchTransferDeps,
  caller: Caller,
  rows: AsyncIterable<TransferRow>,
): AsyncGenerator<TransferResult> => mapConcurrently(rows, batchSize, (row) => transferRow(deps, caller, row))

async function transferRow(
  deps: BatchTransferDeps,
  caller: Caller,
  transfer: TransferRow,
): Promise<TransferResult> {
  const { row, claim } = transfer
  const sent = await sendRow(deps, claim, () => recordRow(deps, caller, transfer))
  return sent.status === 'sent' ? { row, status: 'transferred', initialTxHash: sent.hash } : { row, ...sent }
}

/** @returns the transaction @throws as transferToken */
export async function recordRow(
  deps: BatchTransferDeps,
  { teamId, actor }: Caller,
  { target, recipient, claim }: Omit<TransferRow, 'row'>,
): Promise<number> {
  const requester = { teamId, actor, idempotency: claim }
  if (!isChip(target)) return transferToken(deps, requester, { ...target, recipient })
  const move = () => transferTokenOfChip(deps, requester, { uid: target.uid, recipient })
  const { tokenRow, itemId } = await chipOfTeam(deps, teamId, target.uid)
  return tokenRow === null ? deps.minting.run(`${teamId}/${itemId}`, move) : move()
}

/** A token where a check saw it. `owner` null: nobody. */
export interface SeenToken {
  readonly token: CurrentToken
  readonly owner: string | null
}

/**
 * False if the row's token has another owner by now, or if the chip has another token. @throws DomainError not_found,
 * chain_unavailable
 */
export async function isUnmoved(
  deps: { db: Db; chains: Chains },
  teamId: number,
  target: RowTarget,
  { token: seen, owner }: SeenToken,
): Promise<boolean> {
  const token = await tokenNow(deps, teamId, target)
  if (token === undefined) return seen.tokenId === null
  const { chainId, contractAddress, tokenId } = token
  if (chainId !== seen.chainId || contractAddress !== seen.contractAddress || tokenId !== seen.tokenId)
    return false
  // Read before the owner, so that a transfer that settles in between appears in one of the two.
  const pending = await moveUnderWay(deps.db.read, token)
  if (pending?.recipient !== undefined) return pending.recipient === owner
  const chain = chainOf(deps.chains, chainId)
  const current = await readChain(chain, () =>
    ownerOf(chain.client, getAddress(contractAddress), BigInt(tokenId)),
  )
  return (current ?? null) === owner
}

/** Undefined: the chip has no token yet. */
async function tokenNow(
  deps: { db: Db },
  teamId: number,
  target: RowTarget,
): Promise<LocatedToken | undefined> {
  if (!isChip(target)) return tokenOfTeam(deps, teamId, target)
  const { tokenRow } = await chipOfTeam(deps, teamId, target.uid)
  return tokenRow === null ? undefined : findToken(deps.db.read, tokenRow)
}
