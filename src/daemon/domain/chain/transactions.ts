import type { Chains } from '../../chain/chains.ts'
import { type Json, type KeyedRequest, reserveIdempotencyKey } from '../../chain/relayer/record-intent.ts'
import type { OnSettled } from '../../chain/relayer/sender.ts'
import { allTeams } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { abandonMembers } from '../../store/chain/groups.ts'
import { findTransaction, isGroup, moveKinds } from '../../store/chain/intents.ts'
import {
  findTransactionByHash,
  listTransactions as list,
  type ShownTransaction,
  showTransaction as show,
  type TransactionFilter,
} from '../../store/chain/listing.ts'
import { abandon, cancelQueued } from '../../store/chain/states.ts'
import {
  confirmContractRelayer,
  contractRelayerKind,
  forgetContractRelayers,
} from '../../store/contracts/contract-relayers.ts'
import {
  confirmContractOf,
  contractDeployedBy,
  contractOfUrlUpdate,
  forgetDeployment,
  updateContract,
} from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { forgetMints, openMintsOf } from '../../store/phygitals/tokens.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { conflict, DomainError, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import { settleMembers, soleOf } from './groups.ts'
import { restoreRoyalty } from './royalty.ts'

export type { TransactionRow }

type ReadDeps = { db: Pick<Db, 'read' | 'slow'> }

/** `team` is null for the daemon's own transactions and those of removed teams. */
export type WithTeamName<T> = T & { team: string | null }

/** Newest first. */
export async function listTransactions(
  { db }: ReadDeps,
  filter: TransactionFilter,
): Promise<WithTeamName<TransactionRow>[]> {
  const [rows, teams] = await Promise.all([list(db.slow, filter), allTeams(db.read)])
  const names = new Map(teams.map(({ id, name }) => [id, name]))
  return rows.map((row) => ({ ...row, team: names.get(row.teamId ?? 0) ?? null }))
}

/** A transaction's subject, in the shape of the code that recorded it. */
export async function subjectOf<T>({ db }: { db: Pick<Db, 'read'> }, id: number | null): Promise<T> {
  const row = id === null ? undefined : await findTransaction(db.read, id)
  if (!row) throw new Error('the request is a transaction')
  return JSON.parse(row.subject)
}

/** Includes every attempt but never the signed bytes. @throws DomainError not_found */
export async function showTransaction(
  { db }: ReadDeps,
  of: Pick<Actor, 'ofTeam'>,
  id: number,
): Promise<WithTeamName<ShownTransaction>> {
  const [found, teams] = await Promise.all([show(db.read, id), allTeams(db.read)])
  const shown = ownOf(of, found, 'transaction')
  return { ...shown, team: teams.find((team) => team.id === shown.teamId)?.name ?? null }
}

interface TransactionProgress {
  /** The hash that counts now: that of the mined attempt, else of the newest. */
  hash: string | null
  initialTxHash: string | null
  state: 'queued' | 'sent' | 'confirmed' | 'failed'
  chainId: number
  error?: string
}

/**
 * Open to anyone who has a hash, so it reveals nothing that is not on the chain.
 * @param idOrHash a current or former hash, in lower case, or the ID, which only the transaction's team may use
 * @throws DomainError not_found
 */
export async function followTransaction(
  { db }: ReadDeps,
  idOrHash: string,
  team: () => number | undefined,
): Promise<TransactionProgress> {
  const hash = idOrHash.startsWith('0x') ? idOrHash : null
  const found =
    hash === null
      ? await ofTeam(db.read, Number(idOrHash), team())
      : await soleOf(db.read, await findTransactionByHash(db.read, hash))
  if (!found)
    throw new DomainError(
      'not_found',
      hash === null
        ? 'Your team has no transaction with this number. Check it, and that you send the API key of its team.'
        : "This service sent no transaction with this hash. Check the hash. Look up other people's transactions on their chain.",
    )
  const { state, minedHash, firstHash, chainId, reason, attempts } = found
  const newest = attempts.findLast(({ purpose }) => purpose === 'effect')?.hash
  const shown = { hash: minedHash ?? newest ?? hash, initialTxHash: firstHash ?? hash, chainId }
  switch (state) {
    case 'queued':
    case 'signed':
      return { ...shown, state: 'queued' }
    case 'broadcast':
    case 'mined':
      return { ...shown, state: 'sent' }
    case 'confirmed':
      return { ...shown, state }
    case 'reverted':
      return { ...shown, state: 'failed', error: reason ?? 'The contract refused it.' }
    case 'cancelled':
      // The stored reason comes from an operator or a node.
      return { ...shown, state: 'failed', error: 'It was given up, and had no effect.' }
  }
}

async function ofTeam(
  db: Queries,
  id: number,
  team: number | undefined,
): Promise<ShownTransaction | undefined> {
  const found = team === undefined ? undefined : await show(db, id)
  return found?.teamId === team ? found : undefined
}

/**
 * Cancels at once if nothing was sent, else by an empty transaction with the same nonce; whichever is mined wins.
 * @throws DomainError not_found, conflict if it is too late
 */
export async function cancelTransaction(
  {
    db,
    clock,
    chains,
    webhookEvents,
  }: { db: Db; clock: Clock; chains: Pick<Chains, 'relayer'>; webhookEvents: WebhookEvents },
  { actor, id, reason }: { actor: Actor; id: number; reason: string },
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const row = ownOf(actor, await findTransaction(trx, id), 'transaction')
    // A group is given up as a whole; its other members are then sent alone.
    const sent = { id: row.groupId ?? id, at, reason }
    const member = row.groupId === null ? {} : { id }
    if (row.groupId !== null || isGroup(row.kind))
      await abandonMembers(trx, { groupId: sent.id, at, reason, ...member })
    const { kind } = (await findTransaction(trx, sent.id)) ?? row
    if (await cancelQueued(trx, sent))
      await settledWith({ webhookEvents })(trx, { id: sent.id, kind, state: 'cancelled', at })
    else if (!(await abandon(trx, sent))) throw tooLate(row)
    await recordChange(trx, {
      at,
      actor,
      teamId: row.teamId,
      action: 'transactions.cancel',
      target: String(id),
      detail: { chainId: row.chainId, kind: row.kind, state: row.state, reason },
    })
  })
  // The write has been committed; this informs waiting requests and signs the empty transaction.
  await chains.relayer.cancel(id, reason)
}

function tooLate({ id, state, abandonedBecause }: TransactionRow): DomainError {
  const why =
    abandonedBecause !== null && (state === 'signed' || state === 'broadcast')
      ? 'is already being cancelled: whichever attempt is mined decides'
      : `is ${state}, so it can no longer be cancelled`
  return conflict(`Transaction ${id} ${why}. See tapchip transactions show ${id}.`)
}

/** Called in the write that carries out a request. @returns the answer */
export type KeepAnswer<T> = (trx: Queries, answer: T) => Promise<T>

/** For requests carried out by one write, which then also stores their answer. */
export const keepAnswer =
  <T extends Json>(claim: KeyedRequest | undefined): KeepAnswer<T> =>
  async (trx, answer) => {
    if (claim) await reserveIdempotencyKey(trx, claim, null, JSON.stringify(answer))
    return answer
  }

export { IdempotencyConflict } from '../../chain/relayer/errors.ts'
export type { Idempotency } from '../../chain/relayer/idempotency.ts'
export type { Json, KeyedRequest }

/** Updates the service's own records in the write that settles a transaction. */
export const settledWith =
  ({ webhookEvents }: { webhookEvents: WebhookEvents }): OnSettled =>
  async (trx, transaction) => {
    if (isGroup(transaction.kind)) return settleMembers(trx, transaction, webhookEvents)
    await updateRecords(trx, transaction, webhookEvents)
    await webhookEvents.recordSettled(trx, transaction)
  }

const moves: readonly (string | undefined)[] = Object.values(moveKinds)

async function updateRecords(
  trx: Queries,
  { id, kind, state, at }: Parameters<OnSettled>[1],
  webhookEvents: WebhookEvents,
): Promise<void> {
  if (moves.includes(kind)) return
  if (kind === undefined || kind === contractRelayerKind) {
    if (state === 'confirmed') await confirmContractRelayer(trx, { transactionId: id, at })
    else await forgetContractRelayers(trx, { transactionId: id })
  }
  if (kind === contractRelayerKind) return
  const contractId = await contractOfUrlUpdate(trx, id)
  if (contractId !== undefined) await saveUrl(trx, contractId, id, state === 'confirmed')
  if (state === 'confirmed') await confirmContractOf(trx, id)
  else {
    await restoreRoyalty(trx, id)
    await abandonDeployment(trx, { id, at }, webhookEvents)
  }
}

/** If the contract did not get the URL, the next start sends it again. */
async function saveUrl(trx: Queries, contractId: number, id: number, isReported: boolean): Promise<void> {
  const row = isReported ? await findTransaction(trx, id) : undefined
  // Written by recordServiceUrl in this shape.
  const { baseUrl }: { baseUrl?: string } = JSON.parse(row?.subject ?? '{}')
  const columns = baseUrl === undefined ? {} : { serviceUrl: baseUrl }
  await updateContract(trx, contractId, { urlTransactionId: null, ...columns })
}

/** Mints on a contract that will never be deployed would wait forever. The next start records everything again. */
async function abandonDeployment(
  trx: Queries,
  { id, at }: { id: number; at: string },
  webhookEvents: WebhookEvents,
): Promise<void> {
  const contractId = await contractDeployedBy(trx, id)
  if (contractId !== undefined) {
    const reason = `its contract was not deployed (transaction ${id})`
    for (const mint of await openMintsOf(trx, contractId))
      if (await cancelQueued(trx, { id: mint, at, reason }))
        await webhookEvents.recordSettled(trx, { id: mint, state: 'cancelled', at })
    await forgetMints(trx, contractId)
    await forgetContractRelayers(trx, { contractId })
    const { reason: why } = (await findTransaction(trx, id)) ?? {}
    await updateContract(trx, contractId, {
      problem: `It was not deployed (transaction ${id}): ${why ?? 'for an unknown reason'}`,
    })
  }
  await forgetDeployment(trx, id)
}
