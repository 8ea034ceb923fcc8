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

// There can be as many as a team has tokens, so nothing here reads all of them.

/** The contracts that have some. */
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

/** The first of a contract's. */
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

const countedAtMost = 1000

/** How many each team has, where it has any; of a contract no more than a thousand are counted. */
export async function countDeferred(db: Queries): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  for (const { id, teamId } of await contractsWithDeferred(db)) {
    const { length } = await deferredOf(db, id, countedAtMost)
    counts.set(teamId, (counts.get(teamId) ?? 0) + length)
  }
  return counts
}
