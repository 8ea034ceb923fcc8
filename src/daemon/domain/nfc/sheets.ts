import { type Actor, recordChange } from '../../store/audit.ts'
import type { Db, Queries } from '../../store/database.ts'
import {
  countNfcSheets,
  findNfcSheet,
  findOpenNfcSheet,
  insertNfcSheet,
  insertSheetRow,
  isSheetRowTaken,
  type NfcSheetRow,
  pruneNfcSheets,
  sheetRowOfChip,
  takenRowsFrom,
  updateNfcSheet,
} from '../../store/nfc-sheets.ts'
import { conflict, DomainError, notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import type { NfcSession, SheetPlace } from './session.ts'

const runsAtMost = 10_000
const day = 24 * 3_600_000
const kept = { closed: 30 * day, unused: 180 * day }
/** Taken rows that are read at once. */
const atOnce = 500

type Deps = { db: Db; clock: Clock }

/** A run over a sheet, as stations see it. */
export interface SheetRun {
  readonly run: number
  readonly rows: number
  readonly taken: number
  readonly openedAt: string
  readonly closedAt: string | null
}

const shown = ({ id: run, rows, taken, openedAt, closedAt }: NfcSheetRow): SheetRun => ({
  run,
  rows,
  taken,
  openedAt,
  closedAt,
})

/**
 * Joins the open run of a sheet, or begins one. Ten stations at once get the same.
 * @throws DomainError conflict if the open run has another number of rows; too_large
 */
export async function joinSheet(
  { db, clock }: Deps,
  actor: Actor,
  { teamId, sheet, rows, startOver }: { teamId: number; sheet: string; rows: number; startOver: boolean },
): Promise<SheetRun> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    const open = await findOpenNfcSheet(trx, { teamId, sheet })
    // A run in which nothing was done is as good as a new one.
    const isKept = open && !(startOver && open.taken > 0)
    if (isKept && open.rows === rows) return shown(open)
    if (open && !startOver)
      throw conflict(
        `The sheet is in use with ${open.rows} rows, not ${rows}. Use the same rows at every station, or start the sheet over: --start-over`,
      )
    if ((await countNfcSheets(trx)) >= runsAtMost)
      throw new DomainError(
        'too_large',
        'The daemon keeps no more runs of sheets. Finished ones go after 30 days.',
      )
    if (open) await updateNfcSheet(trx, open.id, { closedAt: at })
    const about = { teamId, sheet, rows, openedAt: at }
    const id = await insertNfcSheet(trx, {
      ...about,
      taken: 0,
      nextRow: 1,
      openedBy: actor.name,
      usedAt: at,
      closedAt: null,
    })
    const detail = { run: id, rows, startedOver: open?.id ?? null }
    await recordChange(trx, { at, actor, teamId, action: 'nfc.sheet', target: sheet, detail })
    return shown({ ...about, id, taken: 0, nextRow: 1, openedBy: actor.name, usedAt: at, closedAt: null })
  })
}

/** @param teamId of whom it must be; undefined: anyone's @throws DomainError not_found */
export async function showSheet(
  { db }: { db: Pick<Db, 'read'> },
  run: number,
  teamId?: number,
): Promise<SheetRun> {
  const found = await findNfcSheet(db.read, run)
  if (found && (teamId === undefined || found.teamId === teamId)) return shown(found)
  throw notFound('run of a sheet')
}

/** A row that is offered to a chip. */
interface Offer {
  /** null: none is free. */
  readonly row: number | null
  /** The chip has it since an earlier set-up. */
  readonly isOwn: boolean
  readonly sheet: Pick<SheetRun, 'rows' | 'taken'>
}

/** Holds a row for the session: the chip's own, else the lowest free one. @throws DomainError not_found, conflict */
export async function offerRow(
  { db }: Pick<Deps, 'db'>,
  session: NfcSession,
  run: number,
  uid: string,
): Promise<Offer> {
  const sheet = await findNfcSheet(db.read, run)
  if (!sheet) throw notFound('run of a sheet')
  const { rows, taken } = sheet
  const own = await sheetRowOfChip(db.read, run, uid)
  if (own !== undefined) return { row: own, isOwn: true, sheet: { rows, taken } }
  if (sheet.closedAt !== null && taken < rows)
    throw conflict('The sheet was started over at another station. Start this box again to go on with it.')
  return { row: await anyRow(db.read, session, sheet), isOwn: false, sheet: { rows, taken } }
}

/** Once no other is left, also one whose holder is lost. */
const anyRow = async (db: Queries, session: NfcSession, sheet: NfcSheetRow): Promise<number | null> =>
  (await freeRow(db, session, sheet, true)) ?? freeRow(db, session, sheet, false)

async function freeRow(
  db: Queries,
  session: NfcSession,
  { id: run, rows, nextRow }: NfcSheetRow,
  isSpare: boolean,
): Promise<number | null> {
  for (let from = nextRow; from <= rows; ) {
    const taken = await takenRowsFrom(db, run, from, atOnce)
    const isTaken = new Set(taken)
    const to = taken.length < atOnce ? rows : (taken.at(-1) ?? rows)
    for (let row = from; row <= to; row += 1)
      if (!isTaken.has(row) && (await holdRow(db, session, { run, row }, isSpare))) return row
    from = to + 1
  }
  return null
}

/** @returns false if another chip has the row, or is getting it */
export const holdRow = async (
  db: Queries,
  session: NfcSession,
  place: SheetPlace,
  isSpare = false,
): Promise<boolean> =>
  // It may have been taken after it was looked up, and before it was held.
  session.takePlace(place, isSpare) && !(await isSheetRowTaken(db, place.run, place.row))

/** @returns false if another chip has the row, or is getting it */
export const isRowLeft = async (
  db: Queries,
  session: NfcSession,
  place: SheetPlace,
  uid: string,
): Promise<boolean> =>
  (await sheetRowOfChip(db, place.run, uid)) !== undefined || (await holdRow(db, session, place))

/** Part of the write that registers a chip. @throws DomainError conflict if another chip has the row */
export async function takeRow(
  trx: Queries,
  { run, row }: SheetPlace,
  uid: string,
  at: string,
): Promise<void> {
  const sheet = await findNfcSheet(trx, run)
  if (!sheet || (await sheetRowOfChip(trx, run, uid)) !== undefined) return
  if (!(await insertSheetRow(trx, { run, row, uid })))
    throw conflict(`Another chip was given row ${row} of the sheet. Put this one on the reader again.`)
  await count(trx, sheet, row, at)
}

/** A row whose label is on another chip already is that chip's. */
export async function passRowTo(
  { db, clock }: Deps,
  { run, row }: SheetPlace,
  holder: string,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const sheet = await findNfcSheet(trx, run)
    if (!sheet) return
    // A chip has one row of a run; a second one with its label is used up all the same.
    const isTaken =
      (await insertSheetRow(trx, { run, row, uid: holder })) ||
      (await insertSheetRow(trx, { run, row, uid: null }))
    if (isTaken) await count(trx, sheet, row, at)
  })
}

async function count(
  trx: Queries,
  { id, rows, taken, nextRow, closedAt }: NfcSheetRow,
  row: number,
  at: string,
): Promise<void> {
  const all = taken + 1
  const next = row === nextRow ? await firstGap(trx, id, nextRow) : nextRow
  const isDone = all === rows && closedAt === null
  await updateNfcSheet(trx, id, {
    taken: all,
    nextRow: next,
    usedAt: at,
    ...(isDone ? { closedAt: at } : {}),
  })
}

async function firstGap(trx: Queries, run: number, from: number): Promise<number> {
  for (let next = from; ; ) {
    const taken = await takenRowsFrom(trx, run, next, atOnce)
    const gap = taken.findIndex((row, index) => row !== next + index)
    next += gap === -1 ? taken.length : gap
    if (gap !== -1 || taken.length < atOnce) return next
  }
}

/** @returns how many rows and runs were deleted */
export const forgetSheets = (trx: Queries, now: number, limit: number): Promise<number> =>
  pruneNfcSheets(trx, { closedBefore: iso(now - kept.closed), usedBefore: iso(now - kept.unused), limit })
