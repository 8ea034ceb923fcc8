import { setTimeout as delay } from 'node:timers/promises'
import { type Card, CardError, CardGone, NoReader, ReaderUnavailable } from '../../nfc/card.ts'
import { ApiError } from '../client/errors.ts'
import type { Box } from './box-state.ts'
import type { After } from './box-view.ts'
import type { ChipRow } from './chip-rows.ts'
import { oneLine } from './errors.ts'
import { type Details, type InspectedChip, SessionLost } from './forward-apdus.ts'
import { runSession } from './run-session.ts'

/** A chip waits so long before it asks for a row again. */
const askAgainMs = 1_000

/** All rows of the sheet are taken. */
class SheetUsedUp extends Error {}
/** All rows that are left are held at other stations or readers. */
class RowsHeld extends Error {}

/**
 * Sets up one chip after another on a reader until the box is over.
 * @param next the next card; it waits, and prints hints
 * @returns the error after which a single chip has to be put down again
 */
export const workReader = async (
  box: Box,
  next: (after: After) => Promise<Card>,
): Promise<CardError | undefined> => {
  const { view, isSingle } = box.run
  let after: After
  while (!box.isComplete) {
    const card = await next(after)
    const { reader } = card
    try {
      box.active()
      if (!(await box.takePlace(() => view.waiting(box, reader, 'Waiting for the last chips.'))))
        return undefined
      const problem = await setUp(box, card).finally(() => box.freePlace())
      if (isSingle) return problem
      if (box.isComplete) return undefined
      after = problem instanceof CardGone ? 'torn' : 'chip'
      await card.release()
      // One that was lifted is not to be lifted.
      if (after === 'chip') view.lift(box, reader)
      await removed(box, card)
      box.active()
    } finally {
      await card.release()
    }
  }
  return undefined
}

/** A service that went away does not know about cards any more; the next one is waited for then. */
const removed = async (box: Box, card: Card): Promise<void> => {
  try {
    await card.removed({ signal: box.ended })
  } catch (error) {
    if (!(error instanceof CardError)) throw error
  }
}

/** @returns the error after which the chip has to be put down again */
const setUp = async (box: Box, card: Card): Promise<CardError | undefined> => {
  const { runner, order, rows, stop, view } = box.run
  const { reader } = card
  const seen: { uid: string | undefined; row: ChipRow | undefined } = { uid: undefined, row: undefined }
  let isHeld = false
  let isAgain = false
  const onSession = () => {
    isAgain = false
  }
  const onInspected = (chip: InspectedChip): Details => {
    const { uid, passed } = chip
    if (passed) box.pass(rows.at(passed.row), passed)
    const row = rowFor(box, chip, isAgain)
    isHeld = false
    isAgain = true
    seen.uid = uid
    seen.row = row
    view.working(box, reader, { uid, row })
    box.write({ type: 'begun', uid, ...(row ? { row: row.row } : {}) })
    // A chip that got new keys in this run does not get others.
    return { ...rows.detailsOf(row), ...(rows.has(uid) ? { rekey: false } : {}) }
  }
  const onRefused = async (error: unknown): Promise<boolean> => {
    if (!(error instanceof RowsHeld)) return false
    isHeld = true
    view.waiting(box, reader, 'Waiting for a row: all that are left are held at other readers.')
    await delay(askAgainMs, undefined, { signal: box.ended }).catch(() => undefined)
    return !box.ended.aborted
  }
  view.working(box, reader)
  try {
    const talk = { stop, onSession, onInspected, onRefused }
    const outcome = await runSession(runner, card, { ...order, waitForDetails: true }, talk)
    await box.record(reader, outcome, seen.row)
    return undefined
  } catch (error) {
    if (error instanceof SheetUsedUp) box.finish()
    // Nothing was done to a chip that only waited.
    if (error instanceof SheetUsedUp || error instanceof RowsHeld || (error instanceof CardGone && isHeld))
      return undefined
    if (!isOfChip(error)) throw error
    const { keySet } = order
    const uid = seen.uid ?? null
    const failed = { status: 'failed', uid, keySet, url: null, error: oneLine(error) } as const
    await box.record(reader, failed, seen.row)
    return error instanceof CardError ? error : undefined
  }
}

/** The box goes on after it. Another session may have taken the chip over. */
const isOfChip = (error: unknown): boolean =>
  error instanceof CardError ||
  error instanceof SessionLost ||
  (error instanceof ApiError && error.statusCode === 409)

/** @throws SheetUsedUp, RowsHeld */
const rowFor = (box: Box, chip: InspectedChip, isAgain: boolean): ChipRow | undefined => {
  const { rows, order } = box.run
  if (order.sheet === undefined) return undefined
  if (chip.sheet) box.sheet = chip.sheet
  // A chip of an earlier run keeps the row that has its label.
  const labelledRow = isAgain ? undefined : rows.labelled(chip.registered?.label ?? null)
  if (chip.row == null) throw box.isSheetUsedUp ? new SheetUsedUp() : new RowsHeld()
  const offered = rows.at(chip.row)
  // The daemon may have forgotten the run in which this box gave the row to another chip.
  return labelledRow ?? (isAgain || rows.isFree(offered, chip.uid) ? offered : rows.next())
}

/** @returns true where the wait for cards may go on once it is over */
export const isReaderOutage = (error: unknown): error is NoReader | ReaderUnavailable =>
  error instanceof NoReader || error instanceof ReaderUnavailable
