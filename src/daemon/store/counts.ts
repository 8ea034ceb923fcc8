import type { Queries } from './database.ts'
import { setting } from './settings.ts'

/** How much there is of what. */
export interface Counts {
  teams: number
  keySets: number
  chips: number
  taps: number
}

/** What there are millions of is not counted, but kept. */
export async function countAll(db: Queries): Promise<Counts> {
  const count = async (table: 'teams' | 'keySets') => {
    const row = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    return Number(row.rows)
  }
  const { chips } = await db
    .selectFrom('chipGroups')
    .select(({ fn }) => fn.sum<number | null>('chips').as('chips'))
    .executeTakeFirstOrThrow()
  // Each tap that was ever recorded took the next id.
  const { last } = await db
    .selectFrom('taps')
    .select(({ fn }) => fn.max<number | null>('id').as('last'))
    .executeTakeFirstOrThrow()
  const deleted = Number((await setting(db, 'tapsDeleted')) ?? 0)
  return {
    teams: await count('teams'),
    keySets: await count('keySets'),
    chips: Number(chips ?? 0),
    taps: Number(last ?? 0) - deleted,
  }
}
