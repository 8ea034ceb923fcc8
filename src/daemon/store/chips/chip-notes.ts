import type { Selectable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'
import type { Database } from '../schema/schema.ts'

export type ChipNoteRow = Selectable<Database['chipNotes']>

/** Newest first. */
export const notesOfChip = (db: Queries, chipUid: string): Promise<ChipNoteRow[]> =>
  db.selectFrom('chipNotes').selectAll().where('chipUid', '=', chipUid).orderBy('id', 'desc').execute()

/** @returns undefined if the chip has `max` of them */
export const insertNote = (
  db: Queries,
  { chipUid, text, by, at }: Omit<ChipNoteRow, 'id'>,
  max: number,
): Promise<ChipNoteRow | undefined> =>
  db
    .insertInto('chipNotes')
    .columns(['chipUid', 'text', 'by', 'at'])
    .expression(
      db
        .selectFrom('chips')
        .select((e) => ['chips.uid', e.cast<string>(e.val(text), 'text').as('text')])
        .select((e) => [
          e.cast<string>(e.val(by), 'text').as('by'),
          e.cast<string>(e.val(at), 'text').as('at'),
        ])
        .where('chips.uid', '=', chipUid)
        .where(
          (e) =>
            e
              .selectFrom('chipNotes')
              .select((f) => f.fn.countAll<number>().as('count'))
              .whereRef('chipNotes.chipUid', '=', 'chips.uid'),
          '<',
          max,
        ),
    )
    .returningAll()
    .executeTakeFirst()

/** @returns false if it is gone */
export const deleteNote = (db: Queries, chipUid: string, id: number): Promise<boolean> =>
  once(db.deleteFrom('chipNotes').where('id', '=', id).where('chipUid', '=', chipUid))

/** What is told of a chip goes to the one that takes its place. */
export async function moveStory(db: Queries, from: string, to: string): Promise<void> {
  for (const table of ['chipNotes', 'guestbookEntries'] as const)
    await affected(db.updateTable(table).set({ chipUid: to }).where('chipUid', '=', from))
}
