import { type ChipsAsText, type ChipsPage, type Db, engineOf, type Queries } from '../database/database.ts'
import { affected } from '../database/statement.ts'
import type { ChipGroupRow } from '../schema/schema.ts'
import { type ChipFilter, chipsToExport } from './chip-selection.ts'

const chipGroups = (db: Queries) => db.selectFrom('chipGroups').selectAll()

export const chipGroupsOfTeam = (db: Queries, teamId: number) =>
  chipGroups(db).where('teamId', '=', teamId).orderBy('id').execute()

/** Of all teams. */
export const allChipGroups = (db: Queries) => chipGroups(db).orderBy('id').execute()

export const findChipGroup = (db: Queries, teamId: number, id: number) =>
  chipGroups(db).where('teamId', '=', teamId).where('id', '=', id).executeTakeFirst()

export const findChipGroupNamed = (db: Queries, teamId: number, name: string) =>
  chipGroups(db).where('teamId', '=', teamId).where('name', '=', name).executeTakeFirst()

export const findAnyChipGroup = (db: Queries, id: number) =>
  chipGroups(db).where('id', '=', id).executeTakeFirst()

export const insertChipGroup = (
  db: Queries,
  group: { teamId: number; name: string; createdAt: string },
): Promise<ChipGroupRow> => db.insertInto('chipGroups').values(group).returningAll().executeTakeFirstOrThrow()

export const renameChipGroup = (db: Queries, id: number, name: string) =>
  affected(db.updateTable('chipGroups').set({ name }).where('id', '=', id))

export const deleteChipGroup = (db: Queries, id: number) =>
  affected(db.deleteFrom('chipGroups').where('id', '=', id))

/** @param chips negative when chips leave the group */
export const addToChipGroup = (db: Queries, id: number, chips: number) =>
  affected(
    db
      .updateTable('chipGroups')
      .set((eb) => ({ chips: eb('chips', '+', chips) }))
      .where('id', '=', id),
  )

// Most groups fit in one page, which takes one or two milliseconds, so taps can wait for it.
const firstRows = 500
const laterRows = 2000

type Reader = Pick<Db, 'read' | 'slow'>

/** Yields pages of JSON array elements, without brackets. */
export const chipsAsElements = (db: Reader, chipGroupId: number): AsyncGenerator<string> =>
  chipPages(db, [chipGroupId], (queries, id, page) => engineOf(queries).chipsAsElements(queries, id, page))

export const chipsAsLines = (
  db: Reader,
  groups: readonly ChipGroupRow[],
  filter: ChipFilter,
): AsyncGenerator<string> =>
  // A page of few chips may be found among many.
  chipPages(
    Object.values(filter).every((value) => value === undefined) ? db : { ...db, read: db.slow },
    groups,
    (queries, group, page) =>
      engineOf(queries).chipsAsLines(queries, chipsToExport(queries, group, { ...page, ...filter })),
  )

/** Only the first page is read on the connection that serves taps. */
async function* chipPages<G>(
  db: Reader,
  groups: readonly G[],
  read: (db: Queries, group: G, page: ChipsPage) => Promise<ChipsAsText>,
): AsyncGenerator<string> {
  let [queries, limit] = [db.read, firstRows]
  for (const group of groups) {
    for (let after = ''; ; ) {
      const { text, rows, last } = await read(queries, group, { after, limit })
      if (last !== null) yield text
      const isLast = last === null || rows < limit
      ;[queries, limit] = [db.slow, laterRows]
      if (isLast) break
      after = last
    }
  }
}
