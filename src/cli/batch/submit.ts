import { hostname } from 'node:os'
import { isResting } from '../../values/batch.ts'
import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, Interrupted, UsageError } from '../errors.ts'
import { counted } from '../io/text.ts'
import { BatchApi, noteRequests } from './batch-api.ts'
import { type BatchOutcome, followBatch, printEnd, printWaiting } from './follow.ts'
import type { RunFlags } from './input/flags.ts'
import { changedIn, describeEffects, endOfDryRun, isGrave, type Plan, planBatch } from './plan.ts'
import { instanceNow, ReconnectPolicy } from './reconnect-policy.ts'
import type { RowLines } from './row-lines.ts'
import type { Batch, BatchFile, KindMessages, RowResult, Totals } from './sheet-kind.ts'

export interface Submission {
  readonly lines: RowLines
  readonly team?: string | undefined
  readonly settings?: Readonly<Record<string, unknown>> | undefined
  /** Uploaded before the rows that refer to them. */
  readonly files?: readonly BatchFile[] | undefined
  readonly flags: Partial<RunFlags> & { readonly yes: boolean }
  /** False: its rows run without a plan, which only a dry run makes. */
  readonly isPlanned?: boolean | undefined
  onPlanned?(result: RowResult): void
  /** If nothing would change, nothing is started. */
  readonly isIdleSkipped?: boolean
  /** Called after the plan, before anybody is shown it. @throws UsageError to refuse the rows */
  checkPlan?(totals: Totals): void
  /** Instead of the kind's own question. */
  ask?(totals: Totals): Promise<void>
  /** If its rows may not be read, follow its counts instead. */
  readonly orStatus?: boolean
  /** Called with each row once it is done. */
  onResult?(result: RowResult): void
}

export interface SubmitResult extends Partial<Omit<BatchOutcome, 'exitCode'>> {
  readonly exitCode: ExitCode
  /** Every row has its result. */
  readonly isDone: boolean
  readonly plan?: Plan
}

/** Uploads rows, shows and confirms their plan, starts the batch, and follows it to its end. */
export const submitBatch = async (
  ctx: CliContext,
  messages: KindMessages,
  submission: Submission,
): Promise<SubmitResult> => {
  const { lines, flags, settings, team } = submission
  const { dryRun } = ctx.flags
  const api = await BatchApi.of(ctx, messages.isAdmin ?? false)
  const { name, note, at, until, propose, rate } = flags
  const creation = {
    kind: messages.name,
    host: hostName(),
    context: ctx.config().contextName,
    total: lines.count,
    rowsHash: lines.hash(settings),
    settings,
    ...(api.isAdmin ? { team } : {}),
    ...(dryRun ? {} : { name, note, at, until, rate, propose: propose || undefined }),
  }
  const { isNew, batch } = await api.create(creation).catch((error: unknown) => {
    throw error instanceof ApiError && error.code === 'batch_name_taken'
      ? new UsageError(error.message)
      : error
  })
  if (!isNew && !['uploading', 'planned'].includes(batch.state))
    return continueBatch(ctx, api, batch, messages, submission)
  if (!dryRun) printStarted(ctx, batch)
  const remove = () => (isNew ? api.remove(batch.id).catch(() => undefined) : undefined)
  let plan: Plan | undefined
  try {
    plan = await prepare(ctx, api, batch, messages, submission)
    if (plan !== undefined && !dryRun) await confirm(ctx, messages, plan, submission)
  } catch (error) {
    await remove()
    throw error
  }
  if (plan && !dryRun && submission.isIdleSkipped && changedIn(plan.totals) === 0) {
    await remove()
    return { exitCode: exitCodes.done, isDone: true, plan }
  }
  if (dryRun) {
    await remove()
    const exitCode = endOfDryRun(ctx, messages, plan ?? { totals: {}, costs: undefined })
    noteRequests(ctx, api.isAdmin ? 'POST /admin/batches/:id/rows' : 'POST /batches/:id/rows', lines.count)
    return { exitCode, isDone: true, ...(plan ? { plan } : {}) }
  }
  return {
    ...(await runOn(ctx, api, await api.start(batch.id), messages, submission)),
    ...(plan && { plan }),
  }
}

/** Printed as soon as the batch exists, so its ID is known even if the command is killed. */
const printStarted = (ctx: CliContext, { id, name, total }: Batch): void =>
  ctx.io.note(`Batch ${id}${name === null ? '' : ` (${name})`}: ${counted(total, 'row')}`)

export const hostName = (): string => hostname().slice(0, 255) || 'unknown'

/** Uploads and plans, until the first interrupt. */
const prepare = async (
  ctx: CliContext,
  api: BatchApi,
  batch: Batch,
  messages: KindMessages,
  { lines, files = [], isPlanned, onPlanned, checkPlan }: Submission,
): Promise<Plan | undefined> => {
  const stop = new AbortController()
  const stopListening = ctx.system.interrupts.listen(() => stop.abort())
  const assertGoing = () => {
    if (stop.signal.aborted) throw new Interrupted('Interrupted. Nothing was written.')
  }
  try {
    const reconnectPolicy = new ReconnectPolicy(
      ctx,
      api.client,
      stop.signal,
      (await instanceNow(ctx)).instance,
    )
    const progress = ctx.io.progress('Uploading', files.length)
    // A batch of before that has its plan has its files, and takes no more.
    for (let at = 0; at < files.length && batch.state === 'uploading'; ) {
      assertGoing()
      const file = files[at]
      try {
        if (file !== undefined) await api.uploadFile(batch.id, file)
        at += 1
        progress.advance(1)
      } catch (error) {
        await reconnectPolicy.wait(error)
      }
    }
    progress.end()
    for (let uploaded = batch.uploaded; uploaded < lines.count; ) {
      assertGoing()
      try {
        uploaded = await api.upload(batch.id, uploaded, lines.after(uploaded).content)
      } catch (error) {
        await reconnectPolicy.wait(error)
        uploaded = (await api.show(batch.id)).uploaded
      }
    }
    assertGoing()
    if (isPlanned === false && !ctx.flags.dryRun) return undefined
    const showing = {
      isDryRun: ctx.flags.dryRun,
      signal: stop.signal,
      ...(onPlanned && { onRow: onPlanned }),
      ...(checkPlan && { check: checkPlan }),
    }
    const plan = await planBatch(ctx, api, batch.id, messages, showing)
    assertGoing()
    return plan
  } finally {
    stopListening()
  }
}

const confirm = async (
  ctx: CliContext,
  messages: KindMessages,
  { totals, costs }: Plan,
  { ask, flags }: Pick<Submission, 'ask' | 'flags'>,
): Promise<void> => {
  // With nothing to change there is nothing to confirm: each row says why.
  if (changedIn(totals) === 0) return
  if (ask !== undefined) return ask(totals)
  const mustConfirm = messages.mustConfirm?.(totals) ?? isGrave(totals)
  if (mustConfirm || ctx.prompts.possible)
    await ctx.prompts.confirm(flags.yes, messages.question(totals, describeEffects(totals), costs))
}

/** Plans, asks, starts and follows an undo, whose rows are already at the daemon. */
export const runPlanned = async (
  ctx: CliContext,
  api: BatchApi,
  batch: Batch,
  messages: KindMessages,
  submission: Omit<Submission, 'lines'>,
): Promise<SubmitResult> => {
  if (!ctx.flags.dryRun) printStarted(ctx, batch)
  const remove = () => api.remove(batch.id).catch(() => undefined)
  const stop = new AbortController()
  const stopListening = ctx.system.interrupts.listen(() => stop.abort())
  try {
    const showing = { isDryRun: ctx.flags.dryRun, signal: stop.signal }
    const plan = await planBatch(ctx, api, batch.id, messages, showing).finally(stopListening)
    if (stop.signal.aborted) throw new Interrupted('Interrupted. Nothing was written.')
    if (ctx.flags.dryRun) {
      await remove()
      return { exitCode: endOfDryRun(ctx, messages, plan), isDone: true, plan }
    }
    await confirm(ctx, messages, plan, submission)
  } catch (error) {
    await remove()
    throw error
  }
  return runOn(ctx, api, await api.start(batch.id), messages, submission)
}

type Running = Pick<Submission, 'flags' | 'onResult' | 'orStatus'>

/** Follows a batch that was started, unless it waits or is to be left alone. */
export const runOn = async (
  ctx: CliContext,
  api: BatchApi,
  batch: Batch,
  messages: KindMessages,
  { flags, onResult, orStatus = false }: Running,
  after = 0,
): Promise<SubmitResult> => {
  if (flags.detach) {
    const { id, name, state } = batch
    await ctx.io.one({ id, name, state }, () => ({ Id: id, Name: name, State: state }))
    if (!isResting(state)) ctx.io.hint(`Follow it: tapchip batch follow ${id}`)
    return { exitCode: exitCodes.done, isDone: false, batch }
  }
  if (batch.state === 'scheduled' || batch.state === 'proposed')
    return { exitCode: printWaiting(ctx, batch), isDone: false, batch }
  const followed = await followBatch(ctx, api, batch, messages, {
    after,
    orStatus,
    ...(onResult && { onResult }),
  })
  return { ...followed, isDone: followed.batch.state === 'done' }
}

/** A batch of this name and these rows was started before: it continues, and its end is ours. */
const continueBatch = async (
  ctx: CliContext,
  api: BatchApi,
  batch: Batch,
  messages: KindMessages,
  running: Running,
): Promise<SubmitResult> => {
  const { id, state, name } = batch
  ctx.io.note(`Batch ${id} (${name}) was started before, and is ${state}.`)
  if (state === 'cancelled')
    throw new UsageError(`Batch ${name} was cancelled.`, 'To run these rows, give another --name.')
  if (state === 'undone') return { exitCode: printEnd(ctx, batch, messages), isDone: true, batch }
  const current =
    state === 'paused' || state === 'failed' ? await api.resume(id, { rate: running.flags.rate }) : batch
  return runOn(ctx, api, current, messages, running)
}
