import type { Queries } from './database.ts'

/** How much there is of what. */
export interface Counts {
  teams: number
  keySets: number
  chips: number
  taps: number
}

export async function countAll(db: Queries): Promise<Counts> {
  const count = async (table: keyof Counts) => {
    const row = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow()
    return Number(row.rows)
  }
  return {
    teams: await count('teams'),
    keySets: await count('keySets'),
    chips: await count('chips'),
    taps: await count('taps'),
  }
}
