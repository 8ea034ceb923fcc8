import type { Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'
import type { TransactionRow } from '../schema/schema.ts'
import { findTransaction } from './intents.ts'

// A group is a transaction that brings about several others, its members, in one call. Each member stays an intent of
// its own: a group that fails releases its members, which are then sent alone.

/** A daemon of an earlier version may have sent one alone, which then has a nonce of its own. */
const unsettled = (db: Queries, groupId: number) =>
  db
    .updateTable('transactions')
    .where('groupId', '=', groupId)
    .where('settledAt', 'is', null)
    .where('nonce', 'is', null)

const queued = (db: Queries, id: number) =>
  db.updateTable('transactions').where('id', '=', id).where('state', '=', 'queued')

/** Members can still join, in this write. @returns false if the group was signed or given up */
export const holdGroup = (db: Queries, id: number): Promise<boolean> =>
  once(queued(db, id).set({ waiting: null }))

/** In the write that records the last of them. @param ids of all members */
export async function joinGroup(db: Queries, groupId: number, ids: readonly number[]): Promise<void> {
  await queued(db, groupId)
    .set({ args: JSON.stringify({ ids, isOpen: true }) })
    .execute()
  const { signer } = (await findTransaction(db, groupId)) ?? {}
  const joined = { groupId, ...(signer === undefined ? {} : { signer }) }
  await db.updateTable('transactions').set(joined).where('id', 'in', ids).execute()
}

/** No more members join. */
export async function closeGroup(db: Queries, id: number): Promise<void> {
  const ids = idsIn((await findTransaction(db, id))?.args ?? null)
  await queued(db, id)
    .set({ args: JSON.stringify({ ids }) })
    .execute()
}

// Stored by joinGroup.
const parsed = (args: string | null): { ids?: number[]; isOpen?: true } => JSON.parse(args ?? '{}')
/** All that ever joined. */
export const idsIn = (args: string | null): readonly number[] => parsed(args).ids ?? []
export const isOpen = ({ args }: Pick<TransactionRow, 'args'>): boolean => parsed(args).isOpen === true

/** @returns the unsettled ones, ordered by ID */
export const membersOf = (db: Queries, groupId: number): Promise<TransactionRow[]> =>
  db
    .selectFrom('transactions')
    .selectAll()
    .where('groupId', '=', groupId)
    .where('settledAt', 'is', null)
    .where('nonce', 'is', null)
    .orderBy('id')
    .execute()

interface Shown {
  groupId: number
  at: string
  state: 'queued' | 'signed' | 'broadcast'
  firstHash?: string
  waiting?: TransactionRow['waiting']
  words?: string | null
}

/** Members show the state of their group, and what it waits for. @returns how many there are */
export const markMembers = (
  db: Queries,
  { groupId, at, state, firstHash, waiting = null, words = null }: Shown,
): Promise<number> =>
  affected(
    unsettled(db, groupId).set((e) => ({
      state,
      ...(firstHash === undefined ? {} : { firstHash: e.fn.coalesce('firstHash', e.val(firstHash)) }),
      ...{ waiting, waitingWords: words, updatedAt: at },
    })),
  )

/** They are sent alone from now on. Requires that the group has not taken effect, and never will. */
export const releaseMembers = (
  db: Queries,
  { groupId, at, ids }: { groupId: number; at: string; ids?: readonly number[] },
) =>
  unsettled(db, groupId)
    .$if(ids !== undefined, (query) => query.where('id', 'in', ids ?? []))
    .set({ groupId: null, state: 'queued', waiting: null, updatedAt: at })
    .execute()

/** Asks for members to be given up, all or one, should their group not take effect. */
export const abandonMembers = (
  db: Queries,
  { groupId, at, reason, id }: { groupId: number; at: string; reason: string; id?: number },
) =>
  unsettled(db, groupId)
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? 0))
    .set({ abandonedBecause: reason, updatedAt: at })
    .execute()

/** Mined with their effect, apart from those that were refused. */
export const confirmMembers = (
  db: Queries,
  at: string,
  { id, sender, nonce, minedHash, blockHash, blockNumber, reason }: TransactionRow,
  refused: readonly number[],
) =>
  unsettled(db, id)
    .$if(refused.length > 0, (query) => query.where('id', 'not in', refused))
    .set({
      ...{ state: 'confirmed', sender, nonce, minedHash, blockHash, blockNumber, reason, succeeded: 1 },
      ...{ waiting: null, settledAt: at, updatedAt: at },
    })
    .execute()
