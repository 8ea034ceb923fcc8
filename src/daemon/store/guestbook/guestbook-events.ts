import type { Insertable } from 'kysely'
import { countOfTeam } from '../chips/chips.ts'
import { engineOf, type Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { GuestbookEventRow, GuestbookEventsTable } from '../schema/schema.ts'

export interface LocatedGuestbookEvent extends GuestbookEventRow {
  /** Must not be shown until the contract is confirmed. */
  address: string
  chainId: number
  contractStatus: 'pending' | 'confirmed'
  /** null if the contract was registered by address or its deployment failed. */
  contractTransactionId: number | null
  contractProblem: string | null
  contractIsBound: number
}

const located = (db: Queries) =>
  db
    .selectFrom('guestbookEvents')
    .innerJoin('contracts', 'contracts.id', 'guestbookEvents.contractId')
    .selectAll('guestbookEvents')
    .select([
      'contracts.address',
      'contracts.chainId',
      'contracts.status as contractStatus',
      'contracts.transactionId as contractTransactionId',
      'contracts.problem as contractProblem',
      'contracts.isBound as contractIsBound',
    ])

const ofChip = statement<{ chipUid: string }>()((db, p) =>
  located(db)
    .innerJoin('guestbookAssignments', 'guestbookAssignments.guestbookEventId', 'guestbookEvents.id')
    .where('guestbookAssignments.chipUid', '=', p.chipUid)
    .orderBy('guestbookEvents.id'),
)
const byId = statement<{ id: number }>()((db, p) => located(db).where('guestbookEvents.id', '=', p.id))

export const guestbookEventsOf = (db: Queries, chipUid: string): Promise<LocatedGuestbookEvent[]> =>
  ofChip.all(db, { chipUid })

export const findGuestbookEvent = (db: Queries, id: number): Promise<LocatedGuestbookEvent | undefined> =>
  byId.first(db, { id })

export async function findGuestbookEventAt(
  db: Queries,
  contractId: number,
  tokenId: string,
): Promise<number | undefined> {
  const query = db.selectFrom('guestbookEvents').select('id')
  return (await query.where('contractId', '=', contractId).where('tokenId', '=', tokenId).executeTakeFirst())
    ?.id
}

export async function insertGuestbookEvent(
  db: Queries,
  event: Insertable<GuestbookEventsTable>,
): Promise<number> {
  return (await db.insertInto('guestbookEvents').values(event).returning('id').executeTakeFirstOrThrow()).id
}

/** Events without a creation transaction, on contracts deployed by this daemon. */
export function eventsWithoutTransaction(
  db: Queries,
  { chainId, contractId }: { chainId: number; contractId?: number },
): Promise<LocatedGuestbookEvent[]> {
  const query = located(db)
    .where('contracts.chainId', '=', chainId)
    .where('contracts.transactionId', 'is not', null)
    .where('guestbookEvents.transactionId', 'is', null)
    .orderBy('guestbookEvents.id')
  return (contractId === undefined ? query : query.where('contracts.id', '=', contractId)).execute()
}

export const setEventTransaction = (db: Queries, id: number, transactionId: number) =>
  affected(db.updateTable('guestbookEvents').set({ transactionId }).where('id', '=', id))

export async function createdTokenIds(db: Queries, contractId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('guestbookEvents')
    .innerJoin('transactions', 'transactions.id', 'guestbookEvents.transactionId')
    .select('guestbookEvents.tokenId')
    .where('contractId', '=', contractId)
    .where('transactions.state', '=', 'confirmed')
    .orderBy('guestbookEvents.id')
    .execute()
  return rows.map(({ tokenId }) => tokenId)
}

const byLocation = statement<{ chainId: number; address: string; tokenId: string }>()((db, p) =>
  located(db)
    .where('contracts.chainId', '=', p.chainId)
    .where('contracts.address', '=', p.address)
    .where('guestbookEvents.tokenId', '=', p.tokenId),
)
/** @param of `contractAddress` as EIP-55 */
export const findEventAt = (
  db: Queries,
  of: { chainId: number; contractAddress: string; tokenId: string },
): Promise<LocatedGuestbookEvent | undefined> =>
  byLocation.first(db, { chainId: of.chainId, address: of.contractAddress, tokenId: of.tokenId })

/** Omits metadata, which would make lists too large. */
export type ListedGuestbookEvent = Pick<
  LocatedGuestbookEvent,
  'id' | 'name' | 'contractId' | 'tokenId' | 'createdAt' | 'address' | 'chainId' | 'contractStatus'
>

/** @param page `contractId` undefined: all contracts of the team */
export function guestbookEventsPage(
  db: Queries,
  {
    teamId,
    contractId,
    after,
    limit,
  }: { teamId: number; contractId: number | undefined; after: number; limit: number },
): Promise<ListedGuestbookEvent[]> {
  const query = db
    .selectFrom('guestbookEvents')
    .innerJoin('contracts', 'contracts.id', 'guestbookEvents.contractId')
    .select([
      'guestbookEvents.id',
      'guestbookEvents.name',
      'guestbookEvents.contractId',
      'guestbookEvents.tokenId',
    ])
    .select(['guestbookEvents.createdAt', 'contracts.address', 'contracts.chainId'])
    .select('contracts.status as contractStatus')
    .where('guestbookEvents.teamId', '=', teamId)
    .where('guestbookEvents.id', '>', after)
    .orderBy('guestbookEvents.id')
    .limit(limit)
  return (contractId === undefined ? query : query.where('contracts.id', '=', contractId)).execute()
}

export interface GuestbookFilter {
  /** undefined: of all teams. */
  teamId: number | undefined
  /** Only IDs below this one. */
  before: number | undefined
  limit: number
}

/** Newest first. Omits metadata, which would make lists too large. */
export function listGuestbookEvents(db: Queries, { teamId, before, limit }: GuestbookFilter) {
  let query = db
    .selectFrom('guestbookEvents')
    .innerJoin('contracts', 'contracts.id', 'guestbookEvents.contractId')
    .select(['guestbookEvents.id', 'guestbookEvents.teamId', 'guestbookEvents.name'])
    .select(['guestbookEvents.contractId', 'guestbookEvents.tokenId', 'guestbookEvents.createdAt'])
    .select(['contracts.name as contractName', 'contracts.address', 'contracts.chainId'])
    .select(['contracts.status as contractStatus', 'contracts.problem as contractProblem'])
    .orderBy('guestbookEvents.id', 'desc')
    .limit(limit)
  if (teamId !== undefined) query = query.where('guestbookEvents.teamId', '=', teamId)
  if (before !== undefined) query = query.where('guestbookEvents.id', '<', before)
  return query.execute()
}

const describe = statement<{ id: number; name: string; metadata: string }>()((db, p) =>
  db.updateTable('guestbookEvents').set({ name: p.name, metadata: p.metadata }).where('id', '=', p.id),
)
export const describeGuestbookEvent = (
  db: Queries,
  event: { id: number; name: string; metadata: string },
): Promise<number> => describe.run(db, event)

/** @returns the number of chips found, and how many were newly assigned */
export async function assignToChips(
  db: Queries,
  of: { guestbookEventId: number; teamId: number; uids: readonly string[]; at: string },
): Promise<{ there: number; assigned: number }> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('guestbookAssignments')
    .columns(['guestbookEventId', 'chipUid', 'createdAt'])
    .expression(
      db
        .selectFrom('chips')
        .select((e) => [
          e.val(of.guestbookEventId).as('guestbookEventId'),
          'uid',
          e.val(of.at).as('createdAt'),
        ])
        .where('uid', 'in', engineOf(db).listed(of.uids))
        .where('teamId', '=', of.teamId),
    )
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  const there = await countOfTeam(db, of.teamId, of.uids)
  return { there, assigned: Number(numInsertedOrUpdatedRows) }
}
