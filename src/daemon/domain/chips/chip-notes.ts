import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { type ChipNoteRow, deleteNote, insertNote, notesOfChip } from '../../store/chips/chip-notes.ts'
import { holdChip } from '../../store/chips/chip-records.ts'
import { updateChip } from '../../store/chips/chips.ts'
import type { Db } from '../../store/database/database.ts'
import { conflict, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { chipOf, type UidReadings } from './chip-record.ts'

type Deps = { db: Db; clock: Clock }

export type ChipNote = Omit<ChipNoteRow, 'chipUid'>

const maxNotes = 100

/** Newest first. @throws DomainError not_found */
export async function listNotes(
  { db }: { db: Pick<Db, 'read'> },
  of: Pick<Actor, 'ofTeam'>,
  readings: UidReadings,
): Promise<ChipNote[]> {
  const { uid } = await chipOf(db.read, of, readings)
  return notesOfChip(db.read, uid)
}

/** It is shown in the chip's story, to everyone who taps it or has its page. @throws DomainError not_found, conflict */
export async function addNote(
  { db, clock }: Deps,
  actor: Actor,
  readings: UidReadings,
  text: string,
): Promise<ChipNote> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    const { uid, teamId } = await chipOf(trx, actor, readings)
    // Or ten at once would each see room for one.
    await holdChip(trx, uid)
    const note = await insertNote(trx, { chipUid: uid, text, by: actor.name, at }, maxNotes)
    if (!note)
      throw conflict(
        `The chip has ${maxNotes} notes, which is the limit. Remove one: tapchip chips note ${uid} --remove ID`,
      )
    await updateChip(trx, uid, {})
    const detail = { note: note.id, text }
    await recordChange(trx, { at, actor, teamId, action: 'chips.note', target: uid, detail })
    return note
  })
}

/** @throws DomainError not_found */
export async function removeNote(
  { db, clock }: Deps,
  actor: Actor,
  readings: UidReadings,
  id: number,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const { uid, teamId } = await chipOf(trx, actor, readings)
    const note = (await notesOfChip(trx, uid)).find((one) => one.id === id)
    if (!note || !(await deleteNote(trx, uid, id))) throw notFound('note')
    const detail = { note: id, text: note.text }
    await recordChange(trx, { at, actor, teamId, action: 'chips.remove-note', target: uid, detail })
  })
}
