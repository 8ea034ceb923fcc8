import { uidOnWire } from '../../../../nfc/uid.ts'
import { byPlan } from '../../../../values/batch.ts'
import { cellsIn, importedColumns, whyNotCell } from '../../../../values/chip-columns.ts'
import { permits } from '../../../../values/scopes.ts'
import { recordChange } from '../../../store/audit/audit.ts'
import { existingChips } from '../../../store/chips/chip-registration.ts'
import type { Queries } from '../../../store/database/database.ts'
import { ensureGroupIn } from '../../chips/chip-groups.ts'
import { type CheckedChip, type ChipInput, readRow, validateChip } from '../../chips/chip-input.ts'
import { planImport } from '../../chips/import-chips.ts'
import { type ImportPlan, registerInGroup, rowsPerWrite } from '../../chips/import-window.ts'
import type { RegisterResult } from '../../chips/register-chips.ts'
import { checkOne, recordUndo, undoOne } from '../../chips/undo-import.ts'
import { withRollback } from '../../dry-run/dry-run.ts'
import { invalid } from '../../errors/errors.ts'
import { iso } from '../../time/time.ts'
import type { BatchDeps, BatchRun, PlannedRow, WrittenKind } from '../kind.ts'
import { LineProblem, lineReader, refuseOthers, uidsIn } from './lines.ts'

interface ImportRow {
  readonly row: number
  readonly input: ChipInput
}

interface ImportResult {
  readonly row: number
  /** Decimal. */
  readonly uid: string
  readonly status: 'created' | 'unchanged' | 'failed' | 'conflict'
  readonly error?: string
}

const known = new Set<string>(importedColumns)

const readLine = lineReader<ImportRow, unknown>(({ row: _, ...line }, row) => {
  const read = cellsIn(line, known)
  if ('problem' in read) throw new LineProblem(read.problem)
  const input = readRow(read.cells)
  if ('reason' in input) throw new LineProblem(input.reason)
  if (input.uid === undefined && input.publicKey === undefined)
    throw new LineProblem('uid is missing: give it, or the publicKey of a HaLo chip')
  return { row, input }
})

/** @throws DomainError invalid_input */
function requestOf({ teamId, actor, scopes, settings }: Omit<BatchRun, 'id' | 'pass'>) {
  const { chipGroup, keySet: keySetId, simulated = false } = settings
  if (typeof chipGroup !== 'string') throw invalid('settings.chipGroup', 'must be text')
  const whyNotGroup = whyNotCell('chipGroup', chipGroup)
  if (whyNotGroup !== undefined) throw invalid('settings.chipGroup', whyNotGroup)
  const whyNotSet = keySetId === undefined ? undefined : whyNotCell('keySet', String(keySetId))
  if (whyNotSet !== undefined || (keySetId !== undefined && typeof keySetId !== 'number'))
    throw invalid('settings.keySet', whyNotSet ?? 'must be a number')
  if (typeof simulated !== 'boolean') throw invalid('settings.simulated', 'must be true or false')
  const mayBind = permits(scopes, 'transfer')
  return { teamId, actor, chipGroup, keySetId, isSimulated: simulated, mayBind, dryRun: false }
}

type PendingImport = Pick<ImportPlan, 'request' | 'at'>

const failure = (uid: string | undefined, error: string): RegisterResult => ({
  status: 'failed',
  uid: uid ?? '',
  error,
})

/** In the order of the rows. */
async function register(
  trx: Queries,
  deps: BatchDeps,
  plan: PendingImport,
  rows: readonly ImportRow[],
): Promise<ImportResult[]> {
  const { request, at } = plan
  const checked = rows.map(({ input }) => validateChip(deps, request.keySetId ?? null, input))
  const chips = checked.filter((chip): chip is CheckedChip => !('reason' in chip))
  const group = chips.length > 0 ? await ensureGroupIn(trx, { ...request, at }, request.chipGroup) : undefined
  const registered = (await registerInGroup(trx, deps, plan, group?.id, chips)).values()
  return checked.map((chip, n) => {
    const { row = 0, input } = rows[n] ?? {}
    const result =
      'reason' in chip ? failure(input?.uid, chip.reason) : (registered.next().value ?? failure(chip.uid, ''))
    return { row, ...result }
  })
}

async function write(
  trx: Queries,
  deps: BatchDeps,
  run: BatchRun,
  rows: readonly PlannedRow<ImportRow, ImportResult>[],
): Promise<ImportResult[]> {
  const plan = { request: requestOf(run), at: iso(deps.clock.now()) }
  const removed = await removedSince(trx, rows)
  const tried = rows.filter(({ planned }) => mayTry(planned) && !removed.has(planned?.uid ?? ''))
  const results = await register(
    trx,
    deps,
    plan,
    tried.map(({ row }) => row),
  )
  const done = new Map(results.map((result) => [result.row, result]))
  const all = rows.map(({ row, planned }): ImportResult => {
    const now = done.get(row.row)
    if (!now) return (!mayTry(planned) && planned) || conflict(row.row, planned?.uid ?? '')
    return byPlan(now.status, planned?.status, () => true) === 'conflict' ? conflict(row.row, now.uid) : now
  })
  await record(trx, plan, all)
  return all
}

const mayTry = (planned: ImportResult | undefined): boolean =>
  planned === undefined || planned.status === 'created' || planned.status === 'unchanged'

const conflict = (row: number, uid: string): ImportResult => ({
  ...{ row, uid, status: 'conflict' },
  error: 'The chip was registered or removed since the batch was planned, and is left as it is.',
})

/** Chips that were registered when the batch was planned but are missing now. */
async function removedSince(
  trx: Queries,
  rows: readonly PlannedRow<ImportRow, ImportResult>[],
): Promise<ReadonlySet<string>> {
  const seen = new Set(rows.flatMap(({ planned }) => (planned?.status === 'unchanged' ? planned.uid : [])))
  if (seen.size > 0) for (const { uid } of await existingChips(trx, [...seen])) seen.delete(uid)
  return seen
}

async function record(
  trx: Queries,
  { request, at }: PendingImport,
  results: readonly ImportResult[],
): Promise<void> {
  const count = (status: ImportResult['status']) => results.filter((one) => one.status === status).length
  const created = count('created')
  if (created === 0) return
  const { teamId, actor, chipGroup, keySetId, isSimulated } = request
  const about = { chipGroup, keySet: keySetId ?? null, simulated: isSimulated }
  const detail = { ...about, created, unchanged: count('unchanged'), failed: count('failed') }
  await recordChange(trx, { at, actor, teamId, action: 'chips.import', target: chipGroup, detail })
}

export const chipImport: WrittenKind<ImportRow, ImportResult> = {
  names: ['chips import'],
  how: 'written',
  isAdmin: true,
  scope: 'edit',
  readRow: readLine,
  // A million unsorted rows take six times as long if written in their order of arrival.
  order: ({ input: { uid = '' } }) => uid,
  checkSettings: async (deps, run) => {
    await planImport(deps, requestOf(run))
  },
  // Only an attempt shows whether a chip can be registered.
  plan: (deps, run, rows) =>
    withRollback(deps.db, (trx) =>
      register(trx, deps, { request: requestOf(run), at: iso(deps.clock.now()) }, rows),
    ),
  rowsPerWrite,
  write,
  undo: {
    kind: 'chips import undo',
    settings: ({ id }) => ({ import: id }),
    row: ({ row }, { uid, status }) => (status === 'created' ? { row, uid: uidOnWire(uid) } : undefined),
  },
}

interface UndoRow {
  readonly row: number
  readonly uid: string
}

interface UndoResult extends UndoRow {
  readonly status: 'removed' | 'unchanged' | 'failed' | 'conflict'
  readonly error?: string
}

const importOf = ({ settings: { import: batch } }: Pick<BatchRun, 'settings'>): string => {
  if (typeof batch !== 'string') throw invalid('settings.import', 'must be the ID of an import')
  return batch
}

export const chipImportUndo: WrittenKind<UndoRow, UndoResult> = {
  names: ['chips import undo'],
  how: 'written',
  isAdmin: true,
  scope: 'edit',
  readRow: lineReader((line, row) => {
    refuseOthers(line, new Set(['row', 'uid']))
    return { row, uid: uidsIn(line)[0] ?? '' }
  }),
  checkSettings: async (_, run) => {
    importOf(run)
  },
  async plan({ db }, run, rows) {
    const results: UndoResult[] = []
    for (const { row, uid } of rows)
      results.push({ row, ...(await checkOne(db.read, { uid, batch: importOf(run), teamId: run.teamId })) })
    return results
  },
  rowsPerWrite: { min: 25, max: 250 },
  async write(trx, deps, run, rows) {
    const at = iso(deps.clock.now())
    const [batch, teamId] = [importOf(run), run.teamId]
    const done: Awaited<ReturnType<typeof undoOne>>[] = []
    const results: UndoResult[] = []
    for (const { row, planned } of rows) {
      if (planned && planned.status !== 'removed') {
        results.push(planned)
        continue
      }
      const one = await undoOne(trx, deps, { uid: row.uid, batch, at, teamId })
      done.push(one)
      results.push({ row: row.row, ...one.result })
    }
    await recordUndo(trx, { at, actor: run.actor, batch }, done)
    return results
  },
  undo: {
    refusal: 'Chips that were removed cannot be brought back by an undo.',
    advice: 'Import their sheet again: tapchip chips import',
  },
}
