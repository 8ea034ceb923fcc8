import type { ChipCells } from '../../../values/chip-columns.ts'
import { type AdaptiveSize, piecesOf, sorted, TimeSlice } from '../../../values/time-slices.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { findChipGroup } from '../../store/chips/chip-groups.ts'
import { findKeySet } from '../../store/chips/key-sets.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ChipGroupRow } from '../../store/schema/schema.ts'
import { withRollback } from '../dry-run/dry-run.ts'
import type { Clock } from '../time/time.ts'
import { ensureChipGroupIn } from './chip-groups.ts'
import { type CheckedChip, readRow, validateChip } from './chip-input.ts'
import { type RegisterDeps, type RegisterResult, registerCheckedChips } from './register-chips.ts'

export type ImportDeps = RegisterDeps & { db: Db; clock: Clock }

export interface ImportRequest {
  teamId: number
  actor: Actor
  chipGroup: string
  keySetId: number | undefined
  isSimulated: boolean
  /** True: rows may bind chips to tokens and to items whose tokens are minted. */
  mayBind: boolean
  dryRun: boolean
}

export interface ImportPlan {
  readonly request: ImportRequest
  /** Undefined if it still has to be created. */
  readonly group: ChipGroupRow | undefined
  readonly at: string
}

export type WindowRow =
  | { readonly values: ChipCells }
  | { readonly problem: string; readonly uid?: string | undefined }

// The table is ordered by UID. Sorting in this window makes a million shuffled rows six times as fast as sorting each
// write. The limit on characters bounds memory.
const rowsPerWindow = 50_000
const charactersPerWindow = 8 * 1024 * 1024
export const rowsPerWrite = { min: 100, max: 2000 }

export async function* windowsOf(
  blocks: AsyncIterable<{ rows: readonly WindowRow[]; size: number }>,
): AsyncGenerator<WindowRow[]> {
  let rows: WindowRow[] = []
  let size = 0
  const slice = new TimeSlice()
  for await (const block of blocks) {
    if (slice.shouldYield) await slice.next()
    for (const row of block.rows) rows.push(row)
    size += block.size
    if (rows.length < rowsPerWindow && size < charactersPerWindow) continue
    yield rows
    rows = []
    size = 0
  }
  if (rows.length > 0) yield rows
}

interface IndexedChip {
  at: number
  chip: CheckedChip
}

export interface Window {
  readonly results: readonly (RegisterResult | undefined)[]
  /** The error that ended the window early. Rows with a result are written. */
  readonly failure?: { readonly error: unknown }
}

export async function registerWindow(
  deps: ImportDeps,
  plan: ImportPlan,
  rows: readonly WindowRow[],
  size: AdaptiveSize,
): Promise<Window> {
  const results = new Array<RegisterResult | undefined>(rows.length)
  const chips: IndexedChip[] = []
  const slice = new TimeSlice()
  for (const [at, row] of rows.entries()) {
    if (slice.shouldYield) await slice.next()
    const chip = checkRow(deps, plan, row)
    if ('status' in chip) results[at] = chip
    else chips.push({ at, chip })
  }
  // The sort is stable, so rows with the same UID keep their order.
  const inOrder = await sorted(chips, ({ chip: { uid: one } }, { chip: { uid: other } }) =>
    one < other ? -1 : one > other ? 1 : 0,
  )
  for await (const piece of piecesOf(inOrder, size)) {
    try {
      const registered = await registerPiece(
        deps,
        plan,
        piece.map(({ chip }) => chip),
        size,
      )
      for (const [index, result] of registered.entries()) {
        const chip = piece[index]
        if (chip) results[chip.at] = result
      }
    } catch (error) {
      return { results, failure: { error } }
    }
  }
  return { results }
}

function checkRow(deps: ImportDeps, { request }: ImportPlan, row: WindowRow): CheckedChip | RegisterResult {
  if ('problem' in row) return failed(row.uid, row.problem)
  const input = readRow(row.values)
  if ('reason' in input) return failed(input.uid ?? row.values.uid, input.reason)
  const chip = validateChip(deps, request.keySetId ?? null, input)
  return 'reason' in chip ? failed(input.uid ?? row.values.uid, chip.reason) : chip
}

/** @param uid decimal if valid, otherwise as given */
const failed = (uid: string | undefined, error: string): RegisterResult => ({
  status: 'failed',
  uid: uid?.slice(0, 64) ?? '',
  error,
})

async function registerPiece(
  deps: ImportDeps,
  plan: ImportPlan,
  chips: readonly CheckedChip[],
  size: AdaptiveSize,
): Promise<RegisterResult[]> {
  const job = (trx: Queries) =>
    size.timed(chips.length, async () => registerInGroup(trx, deps, plan, await groupOf(trx, plan), chips))
  return plan.request.dryRun ? withRollback(deps.db, job) : deps.db.write(job)
}

async function groupOf(trx: Queries, { request, group, at }: ImportPlan): Promise<number | undefined> {
  const { teamId, chipGroup: name } = request
  if (group) return (await findChipGroup(trx, teamId, group.id))?.id
  // Only a dry run gets here, because beginImport creates the group.
  return (await ensureChipGroupIn(trx, { teamId, name, at })).id
}

/** A step of a larger write: registers chips in a group, undefined if the group no longer exists. */
export async function registerInGroup(
  trx: Queries,
  deps: RegisterDeps,
  { request, at }: Pick<ImportPlan, 'request' | 'at'>,
  chipGroupId: number | undefined,
  chips: readonly CheckedChip[],
): Promise<RegisterResult[]> {
  const { teamId, isSimulated, mayBind, keySetId = null, actor } = request
  if (chipGroupId === undefined)
    return failAll(chips, 'The chip was not registered: its chip group was removed in the meantime')
  // Another daemon may have removed it without this one's cache knowing yet.
  if (keySetId !== null && !(await findKeySet(trx, keySetId)))
    return failAll(chips, 'The chip was not registered: its key set was removed in the meantime')
  const registration = { teamId, chipGroupId, keySetId, isSimulated, mayBind, at, batch: actor.batch }
  return registerCheckedChips(trx, deps, registration, chips)
}

const failAll = (chips: readonly CheckedChip[], error: string): RegisterResult[] =>
  chips.map(({ uid }) => ({ status: 'failed', uid, error }))
