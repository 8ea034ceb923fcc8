import { AdaptiveSize } from '../../../values/time-slices.ts'
import { recordChange } from '../../store/audit/audit.ts'
import { rowsPerBatch } from '../../store/database/database.ts'
import { DomainError, type Progress, storeFailure } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { ensureGroupIn, findGroup } from './chip-groups.ts'
import {
  type ImportDeps,
  type ImportPlan,
  type ImportRequest,
  registerWindow,
  rowsPerWrite,
  type WindowRow,
  windowsOf,
} from './import-window.ts'
import type { RegisterResult } from './register-chips.ts'

export interface ImportCounts {
  created: number
  unchanged: number
  failed: number
}

export interface ImportedPiece {
  /** Counted from 1. */
  firstRow: number
  /** Results of consecutive rows; undefined: the row was not processed. */
  results: readonly (RegisterResult | undefined)[]
}

/** Checks the parameters of an import without writing. @throws DomainError not_found, invalid_input */
export async function planImport(
  { db, keyRing, clock }: ImportDeps,
  request: ImportRequest,
): Promise<ImportPlan> {
  const { teamId, chipGroup, keySetId } = request
  if (keySetId !== undefined && !keyRing.get(keySetId)) {
    throw new DomainError(
      'not_found',
      `There is no key set ${keySetId}. Create it first (tapchip key-sets create), or correct the number.`,
    )
  }
  if (chipGroup.trim() === '') throw new DomainError('invalid_input', 'chipGroup must not be empty')
  const group = await findGroup(db.read, teamId, chipGroup)
  if (!group && /^\d+$/.test(chipGroup)) {
    throw new DomainError(
      'not_found',
      `There is no chip group ${chipGroup}. To create a chip group, give a name that is not a number.`,
    )
  }
  return { request, group, at: iso(clock.now()) }
}

export async function beginImport({ db }: ImportDeps, plan: ImportPlan): Promise<ImportPlan> {
  if (plan.request.dryRun) return plan
  return db.write(async (trx) => {
    const { teamId, actor, chipGroup } = plan.request
    const group = await ensureGroupIn(trx, { teamId, actor, at: plan.at }, chipGroup)
    await recordChange(trx, importRecord(plan, plan.at, { phase: 'started' }))
    return { ...plan, group }
  })
}

function importRecord({ request }: ImportPlan, at: string, detail: Record<string, unknown>) {
  const { teamId, actor, chipGroup, keySetId, isSimulated } = request
  const about = { chipGroup, keySet: keySetId ?? null, simulated: isSimulated }
  return { at, actor, teamId, action: 'chips.import', target: chipGroup, detail: { ...about, ...detail } }
}

/** Reads rows only as results are requested. Writes batches, so that taps are served in between. */
export async function* importChips(
  deps: ImportDeps,
  plan: ImportPlan,
  blocks: AsyncIterable<{ rows: readonly WindowRow[]; size: number }>,
): AsyncGenerator<ImportedPiece, ImportCounts> {
  const counts: ImportCounts = { created: 0, unchanged: 0, failed: 0 }
  let firstRow = 1
  let phase = 'stopped'
  const size = new AdaptiveSize(rowsPerBatch(deps.db, rowsPerWrite))
  try {
    for await (const rows of windowsOf(blocks)) {
      const { results, failure } = await registerWindow(deps, plan, rows, size)
      for (const result of results) if (result) counts[result.status] += 1
      yield { firstRow, results }
      if (failure) throw storeFailure(failure.error, progressOf(plan, counts)) ?? failure.error
      firstRow += results.length
    }
    phase = 'finished'
  } finally {
    if (!plan.request.dryRun) {
      const at = iso(deps.clock.now())
      const written = deps.db.write((trx) => recordChange(trx, importRecord(plan, at, { phase, ...counts })))
      // A full disk may prevent this entry too, but the start is already recorded.
      await written.catch((error: unknown) => {
        if (!storeFailure(error)) throw error
      })
    }
  }
  return counts
}

function progressOf({ request }: ImportPlan, { created, unchanged }: ImportCounts): Progress {
  if (request.dryRun) return { stands: 'This was a dry run: nothing was written.' }
  const counts = `${created} rows were created, ${unchanged} were already registered`
  return {
    stands:
      created + unchanged === 0
        ? 'No rows were written. Run the import again after freeing some space.'
        : `${counts}, and the others were not written. Run the import again after freeing some space; it will not change the registered rows.`,
    outcomeMessage: `${counts}, and some of the others may have been. Run the import again: it will not change the registered rows.`,
  }
}
