import type { Queries } from './database.ts'

/** Each token is there once, however often its metadata changed. */
export async function deferAnnouncements(
  db: Queries,
  { contractId, tokenIds, createdAt }: { contractId: number; tokenIds: readonly string[]; createdAt: string },
): Promise<void> {
  await db
    .insertInto('deferredAnnouncements')
    .values(tokenIds.map((tokenId) => ({ contractId, tokenId, createdAt })))
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function forgetDeferred(
  db: Queries,
  { contractId, tokenIds }: { contractId: number; tokenIds: readonly string[] },
): Promise<void> {
  await db
    .deleteFrom('deferredAnnouncements')
    .where('contractId', '=', contractId)
    .where('tokenId', 'in', tokenIds)
    .execute()
}

/** The contracts that have some. */
export async function contractsWithDeferred(db: Queries): Promise<number[]> {
  const rows = await db
    .selectFrom('deferredAnnouncements')
    .select('contractId')
    .distinct()
    .orderBy('contractId')
    .execute()
  return rows.map(({ contractId }) => contractId)
}

/** Oldest first. */
export async function deferredOf(db: Queries, contractId: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('deferredAnnouncements')
    .select('tokenId')
    .where('contractId', '=', contractId)
    .orderBy('createdAt')
    .limit(limit)
    .execute()
  return rows.map(({ tokenId }) => tokenId)
}

/** How many each team has, where it has any. */
export async function countDeferred(db: Queries): Promise<ReadonlyMap<number, number>> {
  const rows = await db
    .selectFrom('deferredAnnouncements')
    .innerJoin('contracts', 'contracts.id', 'deferredAnnouncements.contractId')
    .select(['contracts.teamId', (e) => e.fn.countAll<number>().as('count')])
    .groupBy('contracts.teamId')
    .execute()
  return new Map(rows.map(({ teamId, count }) => [teamId, Number(count)]))
}
