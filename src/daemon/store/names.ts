import type { Queries } from './database.ts'

/** Gives a name of the embedded chain's name service its address, unless it has one. */
export async function insertName(db: Queries, entry: { name: string; address: string }): Promise<void> {
  await db
    .insertInto('names')
    .values(entry)
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

/** Addresses by name. */
export async function allNames(db: Queries): Promise<Record<string, string>> {
  const rows = await db.selectFrom('names').selectAll().execute()
  return Object.fromEntries(rows.map(({ name, address }) => [name, address]))
}
