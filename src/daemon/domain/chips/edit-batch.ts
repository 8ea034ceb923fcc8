import { decimalReading, parseUid } from '../../../nfc/uid.ts'
import { type ChipCells, cellsIn, reasonAgainst, valueOfCell } from '../../../values/chip-columns.ts'
import { isJsonObject } from '../../../values/json.ts'
import { AdaptiveSize, piecesOf } from '../../../values/time-slices.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { changedBefore } from '../../store/audit/chip-trail.ts'
import { findChips, setRedirect, setRedirects } from '../../store/chips/chips.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { type Clock, iso } from '../time/time.ts'

export interface Edit {
  uid: string
  redirectUrl: string | null
  /** If present, the edit fails when the current value differs. */
  expected?: string | null | undefined
}

/** Rows are counted from 1. */
export interface EditRow {
  row: number
  value: Edit
}

export interface EditResult {
  row: number
  uid: string
  status: 'changed' | 'unchanged' | 'failed'
  /** The previous URL; absent if the chip is unknown. */
  previous?: string | null
  error?: string
}

const known = new Set(['uid', 'redirectUrl'])

/** @param line JSON */
export function readEdit(line: unknown): { value: Edit } | { problem: string } {
  if (!isJsonObject(line)) return { problem: 'must be an object' }
  const { uid: uidText, redirectUrl, expected } = line
  const read = cellsIn({ uid: uidText, redirectUrl }, known)
  if ('problem' in read) return read
  const before = cellsIn({ redirectUrl: expected }, known)
  if ('problem' in before) return { problem: before.problem.replace('redirectUrl', 'expected') }
  if (!read.cells.uid) return { problem: 'uid is missing' }
  if (read.cells.redirectUrl === undefined) return { problem: 'redirectUrl is missing; to clear it, null' }
  const uid = parseUid(read.cells.uid)
  const problem = uid.ok ? reasonAgainst(read.cells, false) : `uid ${uid.reason}`
  if (!uid.ok || problem !== undefined) return { problem: problem ?? '' }
  const urlIn = ({ redirectUrl: text }: ChipCells) =>
    text === undefined ? undefined : valueOfCell('redirectUrl', text)
  return { value: { uid: uid.uid, redirectUrl: urlIn(read.cells) ?? null, expected: urlIn(before.cells) } }
}

type Deps = { db: Db; clock: Clock }

/** Rows fail independently. @returns one result per row, in order, as soon as it is on disk */
export async function* editRows(
  { db, clock }: Deps,
  caller: { teamId: number; actor: Actor },
  rows: AsyncIterable<EditRow>,
  dryRun: boolean,
): AsyncGenerator<EditResult> {
  const size = new AdaptiveSize({ min: 50, max: 500 })
  for await (const piece of piecesOf(rows, size)) {
    if (dryRun) {
      yield* await size.timed(piece.length, () => planEdits(db.read, caller.teamId, piece))
      continue
    }
    yield* await db.write((trx) =>
      size.timed(piece.length, () => editRowsIn(trx, { ...caller, at: iso(clock.now()) }, piece)),
    )
  }
}

/** In one write with its entry in the audit log. */
export async function editRowsIn(
  trx: Queries,
  caller: { teamId: number; actor: Actor; at: string },
  piece: readonly EditRow[],
): Promise<EditResult[]> {
  const found = await editPiece(trx, caller.teamId, piece, caller.at)
  const results = found.map(({ changedAt, ...result }) => result)
  const rows = found.flatMap(({ status, uid, previous, changedAt }, n) =>
    status === 'changed'
      ? { uid, previous, redirectUrl: piece[n]?.value.redirectUrl, ...changedBefore(changedAt) }
      : [],
  )
  if (rows.length === 0) return results
  const detail = { changed: rows.length, rows }
  const target = rows.length === 1 ? (rows[0]?.uid ?? '') : `${rows.length} chips`
  await recordChange(trx, { ...caller, action: 'chips.batch', target, detail })
  return results
}

/** Plans the rows. */
export const planEdits = async (
  db: Queries,
  teamId: number,
  rows: readonly EditRow[],
): Promise<EditResult[]> =>
  (await editPiece(db, teamId, rows, undefined)).map(({ changedAt, ...result }) => result)

/** With the date of the chip's last change by a batch, as the entry of this one shows it. */
type FoundResult = EditResult & { readonly changedAt?: string | null }

async function editPiece(
  db: Queries,
  teamId: number,
  rows: readonly EditRow[],
  at: string | undefined,
): Promise<FoundResult[]> {
  const chips = await findChips(db, [
    ...new Set(rows.flatMap(({ value: { uid } }) => [uid, decimalReading(uid) ?? uid])),
  ])
  const current = new Map(
    chips.filter((chip) => chip.teamId === teamId).map((chip) => [chip.uid, chip.redirectUrl]),
  )
  const changed = new Map(chips.map((chip) => [chip.uid, chip.changedAt]))
  const results: FoundResult[] = []
  const written = new Map<string, string | null>()
  for (const { row, value } of rows) {
    const { uid: text, redirectUrl, expected } = value
    const uid = current.has(text) ? text : (decimalReading(text) ?? text)
    const previous = current.get(uid)
    if (previous === undefined) {
      results.push({
        row,
        uid,
        status: 'failed',
        error: 'Your team has no such chip. Import it first, or check the UID.',
      })
    } else if (expected !== undefined && expected !== previous) {
      const error = `It was changed in the meantime: expected ${expected ?? 'no redirect'}, found ${previous ?? 'no redirect'}.`
      results.push({ row, uid, status: 'failed', previous, error })
    } else if (previous === redirectUrl) {
      results.push({ row, uid, status: 'unchanged', previous })
    } else {
      written.set(uid, redirectUrl)
      current.set(uid, redirectUrl)
      results.push({ row, uid, status: 'changed', previous, changedAt: changed.get(uid) ?? null })
    }
  }
  if (at !== undefined) await writeRedirects(db, { teamId, at }, written)
  return results
}

/** Chips that get the same URL share a statement, which most of a large batch do. */
async function writeRedirects(
  db: Queries,
  of: { teamId: number; at: string },
  written: ReadonlyMap<string, string | null>,
): Promise<void> {
  const uidsOf = new Map<string | null, string[]>()
  for (const [uid, redirectUrl] of written) {
    const uids = uidsOf.get(redirectUrl)
    if (uids) uids.push(uid)
    else uidsOf.set(redirectUrl, [uid])
  }
  for (const [redirectUrl, uids] of uidsOf) {
    const [uid = ''] = uids
    if (uids.length === 1) await setRedirect(db, { ...of, uid, redirectUrl })
    else await setRedirects(db, { ...of, uids: uids.sort(), redirectUrl })
  }
}
