import type { Queries } from './database.ts'
import type { MarketplaceRefreshRow } from './schema.ts'

type Of = { chainId: number; contract: string; tokenId: string }

/** Asks that marketplaces read a token's metadata again. One that is under way may have read what was before. */
export async function askForRefresh(db: Queries, { at, ...of }: Of & { at: string }): Promise<void> {
  await db
    .insertInto('marketplaceRefreshes')
    .values({ ...of, dueAt: at, createdAt: at, reason: null, doneAt: null, givenUpAt: null })
    .execute()
}

export interface DueRefresh extends MarketplaceRefreshRow {
  /** When the marketplace was last asked for this token. */
  askedAt: string | null
}

/** What is to be done now, oldest first. */
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

export async function updateRefresh(
  db: Queries,
  id: number,
  change: Partial<Pick<MarketplaceRefreshRow, 'dueAt' | 'reason' | 'doneAt' | 'givenUpAt'>>,
): Promise<void> {
  await db.updateTable('marketplaceRefreshes').set(change).where('id', '=', id).execute()
}

/** Deletes some that are over, one way or the other: they were kept for a while to be looked at. @returns how many */
export async function pruneRefreshes(db: Queries, before: string, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('marketplaceRefreshes')
    .where('id', 'in', (of) =>
      of
        .selectFrom('marketplaceRefreshes')
        .select('id')
        .where('createdAt', '<', before)
        .where((e) => e.or([e('doneAt', 'is not', null), e('givenUpAt', 'is not', null)]))
        .orderBy('id')
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
