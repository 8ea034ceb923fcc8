import { decimalReading } from '../../../nfc/uid.ts'
import { AdaptiveSize, piecesOf, sorted } from '../../../values/time-slices.ts'
import { countOfTeam, findChip, notOfTeam } from '../../store/chips/chips.ts'
import { isOutcomeUnknown } from '../../store/data-dir/disk.ts'
import { type Db, type Queries, rowsPerBatch } from '../../store/database/database.ts'
import { DomainError, storeFailure } from '../errors/errors.ts'

const unknownNamed = 20
/** Up to this number, all chips are changed in one write. */
export const minBatchSize = 250

/** Removes duplicates and sorts by UID, the order of the table. @throws DomainError not_found */
export async function namedChips(
  db: Pick<Db, 'read'>,
  teamId: number,
  texts: readonly string[],
): Promise<readonly string[]> {
  const uids = await eachOnce(texts)
  const unknown = await unknownOf(db, teamId, uids)
  if (unknown.length === 0) return uids
  const readings = new Map<string, string>()
  for (const uid of unknown) {
    const reading = decimalReading(uid)
    if (reading === undefined) assertKnown(unknown)
    else readings.set(uid, reading)
  }
  const read = await eachOnce(uids.map((uid) => readings.get(uid) ?? uid))
  assertKnown(await unknownOf(db, teamId, read))
  return read
}

/**
 * The team's chip that each row of a batch names.
 * @param rows by their readings: the second one counts if the team has no chip with the first
 */
export async function ownChips(
  db: Queries,
  teamId: number,
  rows: readonly { uids: readonly string[] }[],
): Promise<(string | undefined)[]> {
  const named = [...new Set(rows.flatMap(({ uids }) => uids))]
  const unknown = new Set(await notOfTeam(db, teamId, named))
  return rows.map(({ uids }) => uids.find((uid) => !unknown.has(uid)))
}

export const teamOfChip = async (db: Queries, uid: string): Promise<number | undefined> =>
  (await findChip(db, uid))?.teamId

async function eachOnce(uids: readonly string[]): Promise<readonly string[]> {
  const inOrder = await sorted(uids, (one, other) => (one < other ? -1 : one > other ? 1 : 0))
  return inOrder.filter((uid, at) => uid !== inOrder[at - 1])
}

async function unknownOf(db: Pick<Db, 'read'>, teamId: number, uids: readonly string[]): Promise<string[]> {
  const unknown: string[] = []
  const size = new AdaptiveSize(rowsPerBatch(db, { min: minBatchSize, max: 4000 }))
  for await (const piece of piecesOf(uids, size)) {
    await size.timed(piece.length, async () => {
      if ((await countOfTeam(db.read, teamId, piece)) !== piece.length)
        for (const uid of await notOfTeam(db.read, teamId, piece)) unknown.push(uid)
    })
  }
  return unknown
}

function assertKnown(unknown: readonly string[]): void {
  if (unknown.length === 0) return
  const more = unknown.length - unknownNamed
  throw new DomainError(
    'not_found',
    `tagUIDs names chips that your team does not have: ${unknown.slice(0, unknownNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}. Nothing was changed.`,
  )
}

export interface ChipPiece {
  readonly uids: readonly string[]
  readonly target: string
  readonly detail: { readonly of?: number }
}

/**
 * Large edits are several writes, so that taps are served in between; finished ones remain if a later one fails.
 * @param change returns the number of chips that it found
 */
export async function changeInPieces(
  { db }: { db: Db },
  { teamId, uids }: { teamId: number; uids: readonly string[] },
  change: (trx: Queries, piece: ChipPiece) => Promise<number>,
): Promise<void> {
  const size = new AdaptiveSize(rowsPerBatch(db, { min: minBatchSize, max: 4000 }))
  let done = 0
  for await (const piece of piecesOf(uids, size)) {
    const target = piece.length === 1 ? (piece[0] ?? '') : `${piece.length} chips`
    const detail = uids.length > piece.length ? { of: uids.length } : {}
    try {
      await db.write(async (trx) => {
        const there = await size.timed(piece.length, () => change(trx, { uids: piece, target, detail }))
        if (there !== piece.length && done === 0) assertKnown(await notOfTeam(trx, teamId, piece))
      })
    } catch (error) {
      if (done === 0) throw error
      const changed = `${done} of ${uids.length} chips were changed`
      const rest = 'Send the same request again to change the rest.'
      const outcomeMessage = `${changed}; of the others, some may have been. ${rest}`
      const message = `${changed}, and the others were not. ${rest}`
      throw isOutcomeUnknown(error)
        ? storeFailure(error, { outcomeMessage })
        : new DomainError('store_unavailable', message, { retryAfterSeconds: 5, cause: error })
    }
    done += piece.length
  }
}
