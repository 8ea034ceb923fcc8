import type { BatchState } from '../../../values/batch.ts'
import { permits } from '../../../values/scopes.ts'
import { recordChange } from '../../store/audit/audit.ts'
import { batchesOfEndedCredentials } from '../../store/batches/batch-credentials.ts'
import {
  type BatchRow,
  changeBatch,
  deleteBatch,
  findBatch,
  isToBeTakenBack,
  type NamedBatch,
} from '../../store/batches/batches.ts'
import type { Queries } from '../../store/database/database.ts'
import { lacking, recordedAs } from '../access/grants.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertMayStart, type BatchCaller, batchOf, batchToRun, nameOf, rateOf } from './batches.ts'
import type { BatchDeps } from './kind.ts'
import { assertUploaded } from './plan.ts'
import { dropUndos } from './undo.ts'

type Deps = Pick<BatchDeps, 'db' | 'clock'>

const notRunning: readonly BatchState[] = [
  'uploading',
  'planned',
  'proposed',
  'paused',
  'failed',
  'done',
  'cancelled',
  'undone',
]

interface Step {
  /** Name of the action in the audit log. */
  readonly action: 'start' | 'approve' | 'pause' | 'resume' | 'cancel'
  readonly from: readonly BatchState[]
  /** The number of the plan that was shown. */
  readonly nextRow?: number
  readonly change: Partial<BatchRow> | ((trx: Queries, at: string) => Promise<Partial<BatchRow>>)
  /** Runs in the same write. */
  also?(trx: Queries, at: string): Promise<void>
  /**
   * Runs in the same write, so that a dry run includes it.
   * @throws DomainError if the batch is not in the state that the step leads to
   */
  check(after: NamedBatch): void
}

/** Changes a batch's state exactly once, even under concurrent requests. @returns the batch afterwards */
async function take(
  { db, clock }: Deps,
  caller: BatchCaller,
  { id }: NamedBatch,
  { action, from, change, nextRow, also, check }: Step,
): Promise<NamedBatch> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    const isTaken = await changeBatch(
      trx,
      id,
      { states: from, ...(nextRow !== undefined && { nextRow }) },
      { ...(typeof change === 'function' ? await change(trx, at) : change), touchedAt: at },
    )
    const batch = await batchOf(trx, caller, id)
    if (isTaken) {
      await also?.(trx, at)
      await record(trx, caller, batch, action, at)
    }
    check(batch)
    return batch
  })
}

async function record(
  trx: Queries,
  { actor }: Pick<BatchCaller, 'actor'>,
  { id, teamId, kind, name, note, total }: NamedBatch,
  action: Step['action'] | 'delete',
  at: string,
): Promise<void> {
  const detail = { kind, total, ...(name === null ? {} : { name }), ...(note === null ? {} : { note }) }
  const entry = { at, actor: { ...actor, batch: id }, teamId, target: id, detail }
  await recordChange(trx, { ...entry, action: `batches.${action}` })
}

/** At its scheduled time, or immediately if it had already begun. */
const going = ({ at, startedAt }: Pick<BatchRow, 'at' | 'startedAt'>, now: string) =>
  startedAt === null && at !== null && at > now
    ? ({ state: 'scheduled', error: null } as const)
    : ({ state: 'running', error: null, startedAt: startedAt ?? now } as const)

/** Refuses a window that is already over. @throws DomainError invalid_input */
function assertNotOver({ id, until, startedAt }: BatchRow, now: string): void {
  if (startedAt !== null || until === null || until > now) return
  const why = `Batch ${id} was to be undone at ${until}, which has passed. Nothing was changed.`
  throw new DomainError('invalid_input', `${why} Create it again with a later end.`)
}

/** From its first row. */
const begun = (batch: BatchRow, now: string) => ({ ...going(batch, now), nextPiece: 0, nextRow: 0 })

/** Rows run on behalf of whoever started the batch; if that credential has ended, of whoever resumes it. */
async function takenOver(trx: Queries, { actor, credential, scopes }: BatchCaller, id: string, at: string) {
  if ((await batchesOfEndedCredentials(trx, at, { id })).length === 0) return undefined
  return { startedBy: actor.name, startedById: credential, scopes: JSON.stringify(scopes) }
}

/** Repeating the request returns the batch unchanged. @throws DomainError not_found, scope_missing, conflict */
export async function startBatch(deps: Deps, caller: BatchCaller, idOrName: string): Promise<NamedBatch> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  assertMayStart(caller, batch)
  if (batch.state === 'cancelled') throw conflict(`Batch ${batch.id} was cancelled, so it cannot be started.`)
  assertUploaded(batch)
  const isProposed = batch.isProposed === 1
  // Only planned batches can be approved: approval is for what the plan showed.
  if (isProposed && (batch.state === 'uploading' || (batch.state === 'planned' && batch.plan === null)))
    throw conflict(`Batch ${batch.id} must be planned before it is proposed.`)
  if (batch.state === 'uploading' || batch.state === 'planned') assertNotOver(batch, iso(deps.clock.now()))
  const change = async (trx: Queries, at: string) => ({
    ...(isProposed ? ({ state: 'proposed' } as const) : begun(batch, at)),
    ...(await takenOver(trx, caller, batch.id, at)),
  })
  const from = isProposed ? (['planned'] as const) : (['uploading', 'planned'] as const)
  const { nextRow } = batch
  const check = ({ state }: NamedBatch) => {
    if (state === 'uploading' || state === 'planned')
      throw conflict(`Batch ${batch.id} is being planned again. Start it once its plan is complete.`)
  }
  return take(deps, caller, batch, { action: 'start', from, nextRow, change, check })
}

/** @throws DomainError not_found, scope_missing, own_batch, conflict */
export async function approveBatch(deps: Deps, caller: BatchCaller, idOrName: string): Promise<NamedBatch> {
  const batch = await batchOf(deps.db.read, caller, idOrName)
  if (!permits(caller.scopes, 'approve')) throw lacking(recordedAs(caller.actor, caller.teamId), ['approve'])
  if (batch.startedById === caller.credential)
    throw new DomainError(
      'own_batch',
      `Batch ${batch.id} was proposed by ${nameOf({ name: batch.startedBy })}, which is you. Another person must approve it.`,
    )
  if (batch.isProposed === 0) throw conflict(`Batch ${batch.id} was not proposed, so it needs no approval.`)
  if (batch.state === 'uploading' || batch.state === 'planned')
    throw conflict(`Batch ${batch.id} was not started yet, so it cannot be approved.`)
  const now = iso(deps.clock.now())
  if (batch.state === 'proposed') assertNotOver(batch, now)
  const change = { ...begun(batch, now), approvedBy: caller.actor.name }
  const check = ({ state, approvedBy, error }: NamedBatch) => {
    if (state === 'cancelled') throw conflict(`Batch ${batch.id} was cancelled.`)
    if (approvedBy === null) throw conflict(`Batch ${batch.id} is ${state}. ${error ?? ''}`.trimEnd())
  }
  return take(deps, caller, batch, { action: 'approve', from: ['proposed'], change, check })
}

/** @throws DomainError not_found, scope_missing, conflict */
export async function pauseBatch(deps: Deps, caller: BatchCaller, idOrName: string): Promise<NamedBatch> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  const change = { state: 'paused', error: `Paused by ${nameOf(caller.actor)}.` } as const
  const check = ({ state }: NamedBatch) => {
    if (state !== 'paused' && state !== 'done')
      throw conflict(`Batch ${batch.id} is not running: it is ${state}.`)
  }
  return take(deps, caller, batch, { action: 'pause', from: ['running'], change, check })
}

/** @throws DomainError not_found, scope_missing, conflict */
export async function resumeBatch(
  deps: Deps,
  caller: BatchCaller,
  idOrName: string,
  { retryFailed, rate }: { retryFailed: boolean; rate: number | undefined },
): Promise<NamedBatch> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  if (batch.state === 'paused' || batch.state === 'failed') assertNotOver(batch, iso(deps.clock.now()))
  const paced = rate === undefined ? {} : { rate: rateOf(rate) }
  const retried = retryFailed ? { pass: batch.pass + 1, nextPiece: 0, nextRow: 0 } : {}
  const change = async (trx: Queries, at: string) => {
    const heir = await takenOver(trx, caller, batch.id, at)
    // The proposer can neither run nor approve a proposed batch.
    const mustBeApproved = batch.isProposed === 1 && (heir !== undefined || batch.approvedBy === null)
    const to = mustBeApproved
      ? ({ state: 'proposed', error: null, approvedBy: null } as const)
      : going(batch, at)
    return { ...to, endedAt: null, auditHead: null, ...paced, ...retried, ...heir }
  }
  const from = retryFailed ? (['paused', 'failed', 'done'] as const) : (['paused', 'failed'] as const)
  const also = (trx: Queries, at: string) => dropUndos(trx, batch.id, at)
  const check = (after: NamedBatch) => {
    if (after.state === 'running' || after.state === 'done') return
    // It may be scheduled for later, or not approved yet.
    const isWaiting = after.state === 'scheduled' || after.state === 'proposed'
    if (isWaiting && from.some((state) => state === batch.state)) return
    if (after.state === 'uploading' || after.state === 'planned') {
      const named = after.name === null ? '' : `, with --name ${after.name}`
      throw conflict(
        `Batch ${batch.id} was never started, so there is nothing to resume. Run the command that started it again${named}.`,
      )
    }
    throw conflict(`Batch ${batch.id} cannot be resumed: it is ${after.state}.`)
  }
  return take(deps, caller, batch, { action: 'resume', from, change, also, check })
}

/** @throws DomainError not_found, scope_missing, batch_running, conflict */
export async function cancelBatch(deps: Deps, caller: BatchCaller, idOrName: string): Promise<NamedBatch> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  const from = ['uploading', 'planned', 'proposed', 'scheduled', 'paused', 'failed'] as const
  const change = { state: 'cancelled', endedAt: iso(deps.clock.now()) } as const
  const check = (after: NamedBatch) => {
    if (after.state === 'cancelled') return
    if (after.state === 'running') throw stillRunning(after, 'cancelled')
    throw conflict(`Batch ${batch.id} cannot be cancelled: it is ${after.state}.`)
  }
  return take(deps, caller, batch, { action: 'cancel', from, change, check })
}

/** For a window that passed while no daemon ran. @returns false if the batch no longer waits */
export async function cancelExpired({ db, clock }: Deps, { id, at, until }: BatchRow): Promise<boolean> {
  const error = `It was to start at ${at} and to be undone at ${until}: both had passed when the daemon could start it. No row was changed.`
  const now = iso(clock.now())
  const change = { state: 'cancelled', error, endedAt: now, touchedAt: now } as const
  return db.write(async (trx) => {
    if (!(await changeBatch(trx, id, { states: ['scheduled'] }, change))) return false
    const batch = await findBatch(trx, id)
    if (batch) await record(trx, { actor: { name: 'daemon', requestId: null } }, batch, 'cancel', now)
    return true
  })
}

/**
 * Deletes a batch with its rows and results. @throws DomainError not_found, scope_missing, batch_running, conflict
 */
export async function removeBatch(deps: Deps, caller: BatchCaller, idOrName: string): Promise<void> {
  const { batch } = await batchToRun(deps.db.read, caller, idOrName)
  const at = iso(deps.clock.now())
  await deps.db.write(async (trx) => {
    if (await isToBeTakenBack(trx, batch.id))
      throw conflict(
        `Batch ${batch.id} is to be undone at ${batch.until}, which needs its rows. To remove it, undo it first: tapchip batch undo ${batch.id}`,
      )
    if (await deleteBatch(trx, batch.id, notRunning)) return record(trx, caller, batch, 'delete', at)
    const after = await batchOf(trx, caller, batch.id)
    if (after.state === 'running') throw stillRunning(after, 'deleted')
    throw conflict(`Batch ${batch.id} is ${after.state}. Cancel it first: tapchip batch cancel ${batch.id}`)
  })
}

const stillRunning = ({ id }: NamedBatch, what: string): DomainError =>
  new DomainError('batch_running', `Batch ${id} is running. It can be ${what} once it is paused.`)
