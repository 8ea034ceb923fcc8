import { stringifyExact } from '../../../values/json.ts'
import { pagesOf } from '../../../values/time-slices.ts'
import type { Chain } from '../../chain/chains.ts'
import { recordChange } from '../../store/audit/audit.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import {
  findGuestbookEvent,
  findGuestbookEventAt,
  guestbookEventsPage,
  insertGuestbookEvent,
  type ListedGuestbookEvent,
  type LocatedGuestbookEvent,
} from '../../store/guestbook/guestbook-events.ts'
import { chainOf } from '../chain/read-chain.ts'
import { subjectOf } from '../chain/transactions.ts'
import type { DeployDeps } from '../contracts/contract-address.ts'
import { ensureDeploying, type TeamRequester } from '../deployments/guestbook-contracts.ts'
import { recordEvent } from '../deployments/guestbook-records.ts'
import { alreadyExists, notFound } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertMinter, eventExists, isForeign } from './authority.ts'
import { guestbookOfTeam } from './find.ts'

export interface NewEvent {
  contractId: number
  name: string
  tokenId: string
  metadata: object
}

/**
 * Pending contracts queue it. @returns the transaction, for `eventCreatedBy` @throws DomainError not_found,
 * already_exists, chain_unavailable, conflict
 */
export async function createEvent(
  deps: DeployDeps,
  { teamId, actor, idempotency }: TeamRequester,
  { contractId, name, tokenId, metadata }: NewEvent,
): Promise<number> {
  const guestbook = await guestbookOfTeam(deps, teamId, { contractId })
  const chain = chainOf(deps.chains, guestbook.chainId)
  const [minter] = await assertMinter(deps.db, chain, guestbook)
  // A contract deployed elsewhere may already have the event.
  const exists = isForeign(guestbook) && (await eventExists(chain, guestbook.address, tokenId))
  const at = iso(deps.clock.now())
  const transaction = await deps.db.write(async (trx) => {
    const contract = await ensureDeploying(trx, deps, chain, contractId)
    const { id: eventId, isNew } = await ensureEventIn(trx, {
      teamId,
      contractId,
      name,
      tokenId,
      metadata,
      at,
    })
    if (!isNew)
      throw alreadyExists(
        `The guestbook contract ${contract.symbol} (${contractId}) already has an event with the token ID ${tokenId}. Choose another token ID.`,
      )
    const { address, chainId } = contract
    const event = { id: eventId, teamId, tokenId, address, chainId }
    const id = await recordEvent(trx, deps, event, chain, { idempotency, minter, exists })
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'guestbook.create',
      target: `${address}/${tokenId}`,
      detail: { eventId, name, chainId, transaction: id },
    })
    return id
  })
  deps.chains.relayer.wake()
  return transaction
}

/** A step of a larger write: creates the event if its contract has none with this token ID. Sends nothing. */
export async function ensureEventIn(
  trx: Queries,
  { metadata, at: createdAt, ...event }: NewEvent & { teamId: number; at: string },
): Promise<{ id: number; isNew: boolean }> {
  const known = await findGuestbookEventAt(trx, event.contractId, event.tokenId)
  if (known !== undefined) return { id: known, isNew: false }
  const fresh = { ...event, metadata: stringifyExact(metadata), createdAt }
  return { id: await insertGuestbookEvent(trx, fresh), isNew: true }
}

export const eventCreatedBy = async (
  deps: { db: Pick<Db, 'read'> },
  transactionId: number | null,
): Promise<number> => (await subjectOf<{ eventId: number }>(deps, transactionId)).eventId

/** Events of one contract, or of all. Empty for another team's contract. */
export const listEvents = (
  { db }: { db: Pick<Db, 'read'> },
  teamId: number,
  contractId: number | undefined,
): AsyncGenerator<ListedGuestbookEvent> =>
  pagesOf(
    (after, limit) => guestbookEventsPage(db.read, { teamId, contractId, after: after?.id ?? 0, limit }),
    { min: 50, max: 1000 },
  )

/** Records a failed or missing deployment, and the event's creation. @param isThere true if the event is on the chain */
export async function ensureEventCreated(
  trx: Queries,
  deps: DeployDeps,
  chain: Chain,
  { event, exists, minter }: { event: LocatedGuestbookEvent; exists: boolean; minter: string | undefined },
): Promise<LocatedGuestbookEvent> {
  await ensureDeploying(trx, deps, chain, event.contractId)
  const current = await findGuestbookEvent(trx, event.id)
  if (!current) throw notFound('guestbook event')
  if (!exists && !(await isBeingCreated(trx, current)))
    await recordEvent(trx, deps, current, chain, { minter })
  return current
}

/** True once nothing can undo an event's creation, so that a mint need not follow it through the same relayer. */
export async function isSettledEvent(
  trx: Queries,
  { contractStatus, transactionId }: LocatedGuestbookEvent,
  exists: boolean,
): Promise<boolean> {
  if (contractStatus !== 'confirmed') return false
  if (transactionId === null) return exists
  const row = await findTransaction(trx, transactionId)
  return row?.state === 'confirmed'
}

/** Includes events created since the chain was read. */
async function isBeingCreated(trx: Queries, { transactionId }: LocatedGuestbookEvent): Promise<boolean> {
  const row = transactionId === null ? undefined : await findTransaction(trx, transactionId)
  return row !== undefined && row.state !== 'reverted' && row.state !== 'cancelled'
}
