import type { Queries } from './database.ts'
import { affected } from './statement.ts'

export const setting = async (db: Queries, key: string): Promise<string | undefined> =>
  (await db.selectFrom('settings').select('value').where('key', '=', key).executeTakeFirst())?.value

export const setSetting = (db: Queries, key: string, value: string) =>
  affected(
    db
      .insertInto('settings')
      .values({ key, value })
      .onConflict((conflict) => conflict.column('key').doUpdateSet({ value })),
  )

/** Does not overwrite an existing value. */
export const setSettingOnce = (db: Queries, key: string, value: string) =>
  affected(
    db
      .insertInto('settings')
      .values({ key, value })
      .onConflict((conflict) => conflict.doNothing()),
  )

/** Does not overwrite the address of an existing name. */
export const insertName = (db: Queries, entry: { name: string; address: string }) =>
  affected(
    db
      .insertInto('names')
      .values(entry)
      .onConflict((conflict) => conflict.doNothing()),
  )

export async function allNames(db: Queries): Promise<Record<string, string>> {
  const rows = await db.selectFrom('names').selectAll().execute()
  return Object.fromEntries(rows.map(({ name, address }) => [name, address]))
}
