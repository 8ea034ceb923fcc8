import { AdaptiveSize, piecesOf } from '../../../values/time-slices.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  type ChipRecordRow,
  deleteUntouched,
  findChipRecord,
  hasAssignments,
  isUntouched,
  saveTombstone,
} from '../../store/chips/chip-records.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { tokenTopic } from '../../store/phygitals/tokens.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { type Clock, iso } from '../time/time.ts'
import { linkedToken } from './chip-record.ts'
import type { KeyRing } from './key-ring.ts'

/** `unchanged`: the chip no longer exists. */
export type UnregisterResult =
  | { uid: string; status: 'removed' | 'unchanged' }
  | { uid: string; status: 'failed'; error: string }

type Deps = { db: Db; clock: Clock; keyRing: KeyRing }

// Each piece is one write, with one line in the audit log.
const batchSize = { min: 50, max: 250 }

/** Removes the chips that a batch registered and that nothing has happened to since. Chips fail independently. */
export async function undoImport(
  deps: Deps,
  actor: Actor,
  { batch, uids, dryRun }: { batch: string; uids: readonly string[]; dryRun: boolean },
): Promise<UnregisterResult[]> {
  const at = iso(deps.clock.now())
  const size = new AdaptiveSize(batchSize)
  const results: UnregisterResult[] = []
  for await (const piece of piecesOf(uids, size)) {
    if (dryRun) {
      for (const uid of piece)
        results.push(await checkOne(deps.db.read, { uid, batch, teamId: actor.ofTeam }))
      continue
    }
    const done = await deps.db.write((trx) =>
      size.timed(piece.length, async () => {
        const done: UndoneChip[] = []
        for (const uid of piece) done.push(await undoOne(trx, deps, { uid, batch, at, teamId: actor.ofTeam }))
        await recordUndo(trx, { at, actor, batch }, done)
        return done
      }),
    )
    for (const { result } of done) results.push(result)
  }
  return results
}

interface ImportedChip {
  uid: string
  /** The batch that imported it. */
  batch: string
  /** undefined: any team's chip. */
  teamId?: number | undefined
}

const isOf = (teamId: number | undefined, chip: ChipRecordRow | undefined): chip is ChipRecordRow =>
  chip !== undefined && (teamId === undefined || chip.teamId === teamId)

/** Plans an undo. */
export async function checkOne(db: Queries, { uid, batch, teamId }: ImportedChip): Promise<UnregisterResult> {
  const chip = await findChipRecord(db, uid)
  if (!isOf(teamId, chip)) return { uid, status: 'unchanged' }
  if (await isUntouched(db, { uid, batch, topic: topicOf(chip) })) return { uid, status: 'removed' }
  return { uid, status: 'failed', error: await whyNot(db, chip, batch) }
}

const topicOf = (chip: ChipRecordRow): string | null => {
  const token = linkedToken(chip)
  return token ? tokenTopic(token) : null
}

interface UndoneChip {
  result: UnregisterResult
  /** If it was removed. */
  chip?: Pick<ChipRow, 'teamId' | 'createdAt'>
}

/** A step of a larger write. */
export async function undoOne(
  trx: Queries,
  { keyRing }: Pick<Deps, 'keyRing'>,
  { uid, batch, at, teamId: of }: ImportedChip & { at: string },
): Promise<UndoneChip> {
  const chip = await findChipRecord(trx, uid)
  if (!isOf(of, chip)) return { result: { uid, status: 'unchanged' } }
  const { chipGroupId, teamId } = chip
  if (!(await deleteUntouched(trx, { uid, batch, chipGroupId, topic: topicOf(chip) })))
    return { result: { uid, status: 'failed', error: await whyNot(trx, chip, batch) } }
  // A chip without a counter has no taps to keep invalid.
  if (chip.lastCounter >= 0) {
    const set = chip.keySetId === null ? undefined : keyRing.get(chip.keySetId)
    await saveTombstone(trx, chip, keyRing.proofOf(set && keyRing.fileReadKey(set, chip), uid), at)
  }
  return { result: { uid, status: 'removed' }, chip: { teamId, createdAt: chip.createdAt } }
}

async function whyNot(trx: Queries, chip: ChipRecordRow, batch: string): Promise<string> {
  const left = 'It was left as it is.'
  if (chip.lastTapAt !== null) return `The chip was tapped since the import. ${left}`
  if (chip.importBatch !== batch) return `The chip was changed since the import. ${left}`
  if (await hasAssignments(trx, chip.uid))
    return `An event was assigned to the chip since the import. Undo that first. ${left}`
  return `The token of the chip was transferred since the import. ${left}`
}

export async function recordUndo(
  trx: Queries,
  { at, actor, batch }: { at: string; actor: Actor; batch: string },
  done: readonly UndoneChip[],
): Promise<void> {
  const removed = done.flatMap(({ result, chip }) => (chip ? [{ uid: result.uid, ...chip }] : []))
  for (const { teamId, createdAt: registeredAt, uids } of groupSameImport(removed)) {
    const target = uids.length === 1 ? (uids[0] ?? '') : `${uids.length} chips`
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'chips.undo-import',
      target,
      detail: { import: batch, uids, registeredAt },
      chips: uids,
    })
  }
}

/** An import writes many chips at the same moment. */
function groupSameImport(chips: readonly ({ uid: string } & Pick<ChipRow, 'teamId' | 'createdAt'>)[]) {
  const groups = new Map<string, Pick<ChipRow, 'teamId' | 'createdAt'> & { uids: string[] }>()
  for (const { uid, teamId, createdAt } of chips) {
    const key = `${teamId} ${createdAt}`
    const group = groups.get(key)
    if (group) group.uids.push(uid)
    else groups.set(key, { teamId, createdAt, uids: [uid] })
  }
  return groups.values()
}
