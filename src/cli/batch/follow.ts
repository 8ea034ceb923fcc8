import { setTimeout as sleep } from 'node:timers/promises'
import { isResting } from '../../values/batch.ts'
import { ApiError } from '../client/errors.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, withTrailingAdvice } from '../errors.ts'
import { counted, formatNumber } from '../io/text.ts'
import type { BatchApi } from './batch-api.ts'
import { failureReporter } from './failed-file.ts'
import { instanceNow, ReconnectPolicy } from './reconnect-policy.ts'
import { type Batch, isBad, type KindMessages, type RowResult } from './sheet-kind.ts'

export interface BatchOutcome {
  readonly batch: Batch
  readonly exitCode: ExitCode
  /** Set for a batch with a single row. */
  readonly only: RowResult | undefined
}

export interface FollowOptions {
  readonly after?: number
  readonly orStatus?: boolean
  onResult?(result: RowResult): void
}

/** A daemon that ends the answer again and again is not asked a hundred times a second. */
const pauseMs = 500

/**
 * Prints each row once it is done, until the batch rests, and how it ended. An interrupt pauses the batch; a second one
 * leaves it running.
 * @param after rows with a result that are not printed
 * @param orStatus a credential that may not read its rows is shown how many are done; it cannot pause the batch either
 */
export const followBatch = async (
  ctx: CliContext,
  api: BatchApi,
  begun: Batch,
  messages: KindMessages,
  { after = 0, onResult, orStatus = false }: FollowOptions = {},
): Promise<BatchOutcome> => {
  const { io } = ctx
  const { id } = begun
  const failures = failureReporter(io)
  const progress = io.progress(messages.label, begun.total - after)
  const statuses = new Map<string, number>()
  let batch = begun
  let only: RowResult | undefined
  let seen = after
  let pausing: Promise<unknown> | undefined
  const detached = new AbortController()
  let isByStatus = false
  const detach = () => {
    progress.clear()
    io.warn(`Batch ${id} keeps running at the daemon. See it: tapchip batch status ${id}`)
    detached.abort()
  }
  const stopListening = ctx.system.interrupts.listen(() => {
    if (isByStatus) return detach()
    progress.clear()
    io.warn('Pausing the batch. Press Ctrl-C again to leave it running.')
    pausing = api.pause(id).catch(() => undefined)
  }, detach)
  const show = (result: RowResult): Promise<void> | undefined => {
    seen += 1
    const { status = 'unchanged' } = result
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (begun.total === 1) only = result
    progress.advance(1)
    onResult?.(result)
    if (io.json) return io.line(messages.shown?.(result, 'run') ?? result, () => '')
    if (!isBad(result)) return undefined
    progress.clear()
    failures.report(messages.describe(result), { row: result.row, why: result.error ?? '' })
    return undefined
  }
  const client = api.client
  const reconnectPolicy = new ReconnectPolicy(ctx, client, detached.signal, (await instanceNow(ctx)).instance)
  const isDone = () => isResting(batch.state) || ['proposed', 'scheduled', 'planned'].includes(batch.state)
  const reportRows = async () => {
    for await (const line of api.follow(id, seen, detached.signal)) {
      if ('row' in line) await show(line)
      else batch = line.batch
    }
  }
  try {
    for (let isFirst = true; isFirst || !(isDone() || detached.signal.aborted); isFirst = false) {
      if (!isFirst) await sleep(pauseMs)
      try {
        if (isByStatus) {
          batch = await api.show(id)
          progress.advance(Math.max(0, batch.done - seen))
          seen = batch.done
        } else await reportRows()
      } catch (error) {
        isByStatus ||= orStatus && error instanceof ApiError && error.code === 'scope_missing'
        if (!isByStatus) await reconnectPolicy.wait(error)
      }
    }
    await pausing
    // Rows that were on their way at the pause have ended only now.
    if (pausing !== undefined && !detached.signal.aborted) await reportRows()
  } catch (error) {
    throw withTrailingAdvice(
      error,
      `The batch continues once the daemon does. Follow it: tapchip batch follow ${id}`,
    )
  } finally {
    stopListening()
    progress.end()
    failures.end(id)
  }
  if (detached.signal.aborted) return { batch, only, exitCode: exitCodes.interrupted }
  return { batch, only, exitCode: printEnd(ctx, batch, messages, statuses, pausing !== undefined) }
}

/** The last lines, on stderr. @param statuses of the rows that were seen @param isOurs we paused it */
export const printEnd = (
  ctx: CliContext,
  batch: Batch,
  messages: KindMessages,
  statuses: ReadonlyMap<string, number> = new Map(),
  isOurs = false,
): ExitCode => {
  const { io } = ctx
  const { id, state, total, done, changed, failed, conflict, error } = batch
  const counts = countsOf(batch, messages)
  if (state === 'done' || state === 'undone') {
    const undo =
      changed > 0 && !messages.isFinal && !io.json && state === 'done'
        ? ` Undo it: tapchip batch undo ${id}`
        : ''
    io.note(`${counts}.${undo}`)
    const remark = messages.remark?.(statuses)
    if (remark !== undefined) io.note(remark)
    const hint =
      failed + conflict > 0
        ? `See which rows failed and why: tapchip batch report ${id} --failed`
        : messages.hint?.(batch)
    if (hint !== undefined) io.hint(hint)
    return failed + conflict > 0 ? exitCodes.partial : exitCodes.done
  }
  if (state === 'paused') {
    const stopped = `Stopped after ${formatNumber(done)} of ${formatNumber(total)}.`
    const why = isOurs || error === null ? '' : ` ${error}`
    io.note(`${counts}. ${stopped}${why} Continue: tapchip batch resume ${id}`)
    return isOurs ? exitCodes.interrupted : exitCodes.failed
  }
  if (state === 'failed') {
    io.warn(
      `Batch ${id} failed after ${formatNumber(done)} of ${counted(total, 'row')}. ${error ?? ''}`.trimEnd(),
    )
    io.hint(`Continue: tapchip batch resume ${id}`)
    return exitCodes.failed
  }
  if (state === 'cancelled') {
    const where = `after ${formatNumber(done)} of ${counted(total, 'row')}`
    io.note(`Batch ${id} was cancelled ${where}. ${error ?? ''}`.trimEnd())
    return exitCodes.failed
  }
  return printWaiting(ctx, batch)
}

/** "12 changed, 3 unchanged, 0 failed" */
export const countsOf = ({ changed, unchanged, failed, conflict }: Batch, messages: KindMessages): string =>
  [
    messages.changed?.(changed) ?? `${formatNumber(changed)} changed`,
    `${formatNumber(unchanged)} unchanged`,
    `${formatNumber(failed)} failed`,
    ...(conflict > 0 ? [`${formatNumber(conflict)} in conflict`] : []),
  ].join(', ')

/** A batch that does not run yet. */
export const printWaiting = (ctx: CliContext, { id, state, at, until }: Batch): ExitCode => {
  const end = until === null ? '' : ` It is undone at ${until}.`
  if (state === 'scheduled')
    ctx.io.note(
      `Batch ${id} starts at ${at}.${end} Follow it: tapchip batch follow ${id}. Cancel it: tapchip batch cancel ${id}`,
    )
  else if (state === 'proposed')
    ctx.io.note(`Batch ${id} waits until somebody else approves it: tapchip batch approve ${id}`)
  else ctx.io.note(`Batch ${id} is ${state}. See it: tapchip batch status ${id}`)
  return exitCodes.done
}
