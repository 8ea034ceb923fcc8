import type { Queries } from '../database/database.ts'
import { affected } from '../database/statement.ts'
import type { MarketplaceRefreshRow } from '../schema/schema.ts'

type TokenRef = { chainId: number; contract: string; tokenId: string }

/** Always inserts a row, because a refresh in progress may have read the previous metadata. */
export const askForRefresh = (db: Queries, { at, ...of }: TokenRef & { at: string }) =>
  affected(db.insertInto('marketplaceRefreshes').values({ ...of, dueAt: at, createdAt: at }))

export interface DueRefresh extends MarketplaceRefreshRow {
  askedAt: string | null
}

/** Oldest due time first. */
export const dueRefreshes = (db: Queries, now: string, limit: number): Promise<DueRefresh[]> =>
  db
    .selectFrom('marketplaceRefreshes as waiting')
    .selectAll('waiting')
    .select((e) =>
      e
        .selectFrom('marketplaceRefreshes as before')
        .select((f) => f.fn.max('before.doneAt').as('askedAt'))
        .whereRef('before.chainId', '=', 'waiting.chainId')
        .whereRef('before.contract', '=', 'waiting.contract')
        .whereRef('before.tokenId', '=', 'waiting.tokenId')
        .as('askedAt'),
    )
    .where('waiting.doneAt', 'is', null)
    .where('waiting.givenUpAt', 'is', null)
    .where('waiting.dueAt', '<=', now)
    .orderBy('waiting.dueAt')
    .limit(limit)
    .execute()

export const updateRefresh = (
  db: Queries,
  id: number,
  change: Partial<Pick<MarketplaceRefreshRow, 'dueAt' | 'reason' | 'doneAt' | 'givenUpAt'>>,
) => affected(db.updateTable('marketplaceRefreshes').set(change).where('id', '=', id))

/** Deletes up to `limit` finished refreshes. @returns the number deleted */
export const pruneRefreshes = (db: Queries, before: string, limit: number) =>
  affected(
    db.deleteFrom('marketplaceRefreshes').where('id', 'in', (of) =>
      of
        .selectFrom('marketplaceRefreshes')
        .select('id')
        .where('createdAt', '<', before)
        .where((e) => e.or([e('doneAt', 'is not', null), e('givenUpAt', 'is not', null)]))
        .orderBy('id')
        .limit(limit),
    ),
  )

export const deferAnnouncements = (
  db: Queries,
  { contractId, tokenIds }: { contractId: number; tokenIds: readonly string[] },
) =>
  affected(
    db
      .insertInto('deferredAnnouncements')
      .values(tokenIds.map((tokenId) => ({ contractId, tokenId })))
      .onConflict((conflict) => conflict.doNothing()),
  )

export const forgetDeferred = (
  db: Queries,
  { contractId, tokenIds }: { contractId: number; tokenIds: readonly string[] },
) =>
  affected(
    db
      .deleteFrom('deferredAnnouncements')
      .where('contractId', '=', contractId)
      .where('tokenId', 'in', tokenIds),
  )

// A team may have one per token, so queries must not read all of them.

export const contractsWithDeferred = (db: Queries): Promise<{ id: number; teamId: number }[]> =>
  db
    .selectFrom('contracts')
    .select(['id', 'teamId'])
    .where((e) =>
      e.exists(
        e
          .selectFrom('deferredAnnouncements')
          .select('tokenId')
          .whereRef('deferredAnnouncements.contractId', '=', 'contracts.id')
          .limit(1),
      ),
    )
    .orderBy('id')
    .execute()

export async function deferredOf(db: Queries, contractId: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('deferredAnnouncements')
    .select('tokenId')
    .where('contractId', '=', contractId)
    .orderBy('tokenId')
    .limit(limit)
    .execute()
  return rows.map(({ tokenId }) => tokenId)
}

const maxCounted = 1000

/** Counts by team, up to 1000 per contract; omits teams without any. */
export async function countDeferred(db: Queries): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  for (const { id, teamId } of await contractsWithDeferred(db)) {
    const { length } = await deferredOf(db, id, maxCounted)
    counts.set(teamId, (counts.get(teamId) ?? 0) + length)
  }
  return counts
}
