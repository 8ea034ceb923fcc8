import type { Insertable, Selectable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, exists, insertedId } from '../database/statement.ts'
import type { NfcSheetsTable } from '../schema/schema.ts'

export type NfcSheetRow = Selectable<NfcSheetsTable>

export const findNfcSheet = (db: Queries, id: number): Promise<NfcSheetRow | undefined> =>
  db.selectFrom('nfcSheets').selectAll().where('id', '=', id).executeTakeFirst()

export const findOpenNfcSheet = (
  db: Queries,
  of: { teamId: number; sheet: string },
): Promise<NfcSheetRow | undefined> =>
  db
    .selectFrom('nfcSheets')
    .selectAll()
    .where('teamId', '=', of.teamId)
    .where('sheet', '=', of.sheet)
    .where('closedAt', 'is', null)
    .executeTakeFirst()

export const insertNfcSheet = async (db: Queries, sheet: Insertable<NfcSheetsTable>): Promise<number> =>
  insertedId(await db.insertInto('nfcSheets').values(sheet).returning('id').executeTakeFirst())

export const updateNfcSheet = (
  db: Queries,
  id: number,
  change: Partial<Pick<NfcSheetRow, 'taken' | 'nextRow' | 'usedAt' | 'closedAt'>>,
) => affected(db.updateTable('nfcSheets').set(change).where('id', '=', id))

export async function countNfcSheets(db: Queries, teamId: number): Promise<number> {
  const { count } = await db
    .selectFrom('nfcSheets')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('teamId', '=', teamId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** @returns false if the row or the chip is already taken */
export const insertSheetRow = async (
  db: Queries,
  taken: { run: number; row: number; uid: string | null },
): Promise<boolean> =>
  (await affected(
    db
      .insertInto('nfcSheetRows')
      .values(taken)
      .onConflict((c) => c.doNothing()),
  )) === 1

/** @returns the chip's row, or undefined */
export const sheetRowOfChip = async (db: Queries, run: number, uid: string): Promise<number | undefined> =>
  (
    await db
      .selectFrom('nfcSheetRows')
      .select('row')
      .where('run', '=', run)
      .where('uid', '=', uid)
      .executeTakeFirst()
  )?.row

export const isSheetRowTaken = (db: Queries, run: number, row: number): Promise<boolean> =>
  exists(db.selectFrom('nfcSheetRows').select('row').where('run', '=', run).where('row', '=', row))

/** In order. */
export const takenRowsFrom = async (
  db: Queries,
  run: number,
  from: number,
  limit: number,
): Promise<number[]> => {
  const rows = await db
    .selectFrom('nfcSheetRows')
    .select('row')
    .where('run', '=', run)
    .where('row', '>=', from)
    .orderBy('row')
    .limit(limit)
    .execute()
  return rows.map(({ row }) => row)
}

/**
 * Deletes runs closed or unused for long, row by row.
 * @param before ISO 8601; `empty`: for runs without taken rows
 * @returns the number of rows and runs deleted
 */
export async function pruneNfcSheets(
  db: Queries,
  { before, limit }: { before: { closed: string; used: string; empty: string }; limit: number },
): Promise<number> {
  let left = limit
  while (left > 0) {
    const old = await db
      .selectFrom('nfcSheets')
      .select('id')
      .where((eb) =>
        eb.or([
          eb('closedAt', '<', before.closed),
          eb('usedAt', '<', before.used),
          eb.and([eb('taken', '=', 0), eb('usedAt', '<', before.empty)]),
        ]),
      )
      .orderBy('id')
      .limit(1)
      .executeTakeFirst()
    if (!old) break
    const rows = await takenRowsFrom(db, old.id, 0, left)
    const last = rows.at(-1) ?? 0
    await db.deleteFrom('nfcSheetRows').where('run', '=', old.id).where('row', '<=', last).execute()
    left -= rows.length
    if (left === 0) break
    await db.deleteFrom('nfcSheets').where('id', '=', old.id).execute()
    left -= 1
  }
  return limit - left
}
