import type { Queries } from '../../store/database/database.ts'
import {
  findNfcSheet,
  insertSheetRow,
  isSheetRowTaken,
  type NfcSheetRow,
  sheetRowOfChip,
  takenRowsFrom,
  updateNfcSheet,
} from '../../store/nfc/nfc-sheets.ts'
import { conflict, notFound } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import type { NfcSession, SheetProgress } from './session.ts'
import type { SheetPlace } from './session-leases.ts'
import type { SheetDeps } from './sheet-runs.ts'

/** Rows read at once. */
const batchSize = 500

/** A row offered to a chip. */
interface Offer {
  /** Null: none is free. */
  readonly row: number | null
  /** The chip has had it since an earlier set-up. */
  readonly isOwn: boolean
  readonly sheet: SheetProgress
}

/**
 * Reserves a row for the session: the chip's own, else the lowest free one. @throws DomainError not_found, conflict
 */
export async function offerRow(
  { db }: Pick<SheetDeps, 'db'>,
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

/** If no other row is left, also one whose holder is gone. */
const anyRow = async (db: Queries, session: NfcSession, sheet: NfcSheetRow): Promise<number | null> =>
  (await freeRow(db, session, sheet, true)) ?? freeRow(db, session, sheet, false)

async function freeRow(
  db: Queries,
  session: NfcSession,
  { id: run, rows, nextRow }: NfcSheetRow,
  isSpare: boolean,
): Promise<number | null> {
  for (let from = nextRow; from <= rows; ) {
    const taken = await takenRowsFrom(db, run, from, batchSize)
    const isTaken = new Set(taken)
    const to = taken.length < batchSize ? rows : (taken.at(-1) ?? rows)
    for (let row = from; row <= to; row += 1)
      if (!isTaken.has(row) && (await holdRow(db, session, { run, row }, isSpare))) return row
    from = to + 1
  }
  return null
}

/** @returns false if another chip has the row, or is about to get it */
export const holdRow = async (
  db: Queries,
  session: NfcSession,
  place: SheetPlace,
  isSpare = false,
): Promise<boolean> =>
  // Another chip may have taken it between the look-up and the reservation.
  (await session.takePlace(place, isSpare)) && !(await isSheetRowTaken(db, place.run, place.row))

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

/** A row whose label another chip already has belongs to that chip. */
export async function passRowTo(
  { db, clock }: SheetDeps,
  { run, row }: SheetPlace,
  holder: string,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const sheet = await findNfcSheet(trx, run)
    if (!sheet) return
    // A chip has one row per run; a second row with its label counts as used.
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
    const taken = await takenRowsFrom(trx, run, next, batchSize)
    const gap = taken.findIndex((row, index) => row !== next + index)
    next += gap === -1 ? taken.length : gap
    if (gap !== -1 || taken.length < batchSize) return next
  }
}
