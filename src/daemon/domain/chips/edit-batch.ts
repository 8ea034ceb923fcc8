import { decimalReading, parseUid } from '../../../nfc/uid.ts'
import { checkRedirectUrl } from '../../../values/redirect-url.ts'
import { Pace, piecesOf } from '../../../values/slices.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findChips, setRedirect } from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import { type Clock, iso } from '../time.ts'

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

export function checkEdit(edit: Edit): { value: Edit } | { problem: string } {
  const uid = parseUid(edit.uid)
  if (!uid.ok) return { problem: `uid ${uid.reason}` }
  const redirectUrl = edit.redirectUrl === '' ? null : edit.redirectUrl
  const reason = redirectUrl === null ? undefined : checkRedirectUrl(redirectUrl)
  if (reason) return { problem: `redirectUrl ${reason}` }
  const expected = edit.expected === '' ? null : edit.expected
  return { value: { uid: uid.uid, redirectUrl, expected } }
}

// Keeps the audit entry readable; the batch journal contains every row.
const rowsInRecord = 100

type Deps = { db: Db; clock: Clock }

/** Rows fail independently. @returns one result per row, in order, as soon as it is on disk */
export async function* editRows(
  { db, clock }: Deps,
  caller: { teamId: number; actor: Actor },
  rows: AsyncIterable<EditRow>,
  dryRun: boolean,
): AsyncGenerator<EditResult> {
  const pace = new Pace({ least: 50, most: 500 })
  for await (const piece of piecesOf(rows, pace)) {
    const edit = (db: Queries) => pace.timed(piece.length, () => editPiece(db, caller.teamId, piece, dryRun))
    if (dryRun) {
      yield* await edit(db.read)
      continue
    }
    yield* await db.write(async (trx) => {
      const results = await edit(trx)
      const changed = results.filter((result) => result.status === 'changed')
      if (changed.length === 0) return results
      const rows = changed.slice(0, rowsInRecord).map(({ uid, previous }) => ({ uid, previous }))
      const detail = { changed: changed.length, rows }
      const target = changed.length === 1 ? (changed[0]?.uid ?? '') : `${changed.length} chips`
      await recordChange(trx, { ...caller, at: iso(clock.now()), action: 'chips.batch', target, detail })
      return results
    })
  }
}

async function editPiece(
  db: Queries,
  teamId: number,
  rows: readonly EditRow[],
  dryRun: boolean,
): Promise<EditResult[]> {
  const chips = await findChips(db, [
    ...new Set(rows.flatMap(({ value: { uid } }) => [uid, decimalReading(uid) ?? uid])),
  ])
  const current = new Map(
    chips.filter((chip) => chip.teamId === teamId).map((chip) => [chip.uid, chip.redirectUrl]),
  )
  const results: EditResult[] = []
  for (const { row, value } of rows) {
    const { uid: given, redirectUrl, expected } = value
    const uid = current.has(given) ? given : (decimalReading(given) ?? given)
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
      if (!dryRun) await setRedirect(db, { uid, teamId, redirectUrl })
      current.set(uid, redirectUrl)
      results.push({ row, uid, status: 'changed', previous })
    }
  }
  return results
}
