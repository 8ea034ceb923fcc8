import type { Queries } from './database.ts'

/** Gives a name of the embedded chain's name service its address, unless it has one. */
export async function insertName(db: Queries, entry: { name: string; address: string }): Promise<void> {
  await db
    .insertInto('names')
    .values(entry)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}
