import { existsSync, rmSync } from 'node:fs'
import { isBatchId } from '../../values/batch-id.ts'
import type { CliContext } from '../context.ts'
import { CliError, type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { archivePath } from './archive.ts'
import { findBatch, remoteBatches } from './copies.ts'
import { resumeBatch, undoBatch } from './engine.ts'
import { type BatchSummary, describeDamage, isDamaged, listBatches, readBatch } from './history.ts'
import { assertSameDaemon } from './instance.ts'
import { hasFailed, hostName, journalPath } from './journal.ts'
import type { History, ResumeOptions } from './kind.ts'
import { kinds } from './kinds.ts'

// The verbs for batches that have a journal: of kinds that the daemon does not run yet.

/** Of a process that skipped damaged lines, so that nobody takes its result for complete. */
const afterDamage = (ctx: CliContext, { header, damage }: History): ExitCode => {
  if (!isDamaged(damage)) return exitCodes.done
  ctx.io.warn(
    `${describeDamage(header.id, journalPath(ctx.system, header.id), damage)}. The rows of those lines were left out.`,
  )
  return exitCodes.partial
}

/** As the daemon shows its own. */
export const shownOf = ({ header, status, endedAt, counts }: BatchSummary) => {
  const { changed, unchanged, failed } = counts
  return {
    id: header.id,
    name: null,
    kind: header.kind,
    state: status === 'stopped' ? ('paused' as const) : status,
    team: null,
    startedBy: null,
    approvedBy: null,
    note: null,
    at: null,
    until: null,
    host: hostName(),
    context: null,
    undoes: header.undoes ?? null,
    total: header.total,
    done: changed + unchanged + failed,
    changed,
    unchanged,
    failed,
    conflict: 0,
    error: null,
    lateSeconds: null,
    auditHead: null,
    createdAt: header.startedAt,
    startedAt: header.startedAt,
    endedAt: endedAt ?? null,
  }
}

export const listOld = async (ctx: CliContext) => {
  const problems: CliError[] = []
  const batches = await listBatches(ctx.system, kinds, (problem) => problems.push(problem))
  return { batches: batches.map(shownOf), problems }
}

export const listOldElsewhere = async (ctx: CliContext) =>
  (await remoteBatches(ctx, { limit: 1000 })).map(
    ({ id, kind, state, host, context, startedBy, startedAt, total, done, failed }) => ({
      ...{ id, name: null, kind, state: state === 'stopped' ? ('paused' as const) : state },
      ...{ team: null, startedBy, approvedBy: null, note: null, at: null, until: null, host, context },
      ...{ undoes: null, total, done, changed: done - failed, unchanged: 0, failed, conflict: 0 },
      ...{ error: null, lateSeconds: null, auditHead: null },
      ...{ createdAt: startedAt, startedAt, endedAt: null },
    }),
  )

export const showOld = async (ctx: CliContext, id: string) =>
  shownOf((await findBatch(ctx, id, kinds)).history)

export const reportOld = async (
  ctx: CliContext,
  id: string,
  options: { readonly failed: boolean; readonly skipDamaged: boolean },
): Promise<ExitCode> => {
  const { kind, history } = await findBatch(ctx, id, kinds, options.skipDamaged)
  for (const row of history.rows) {
    const result = history.results.get(row.row)
    if (options.failed && (result === undefined || !hasFailed(result))) continue
    await ctx.io.line({ row: row.row, ...kind.about(row), status: 'pending', ...result }, () =>
      result ? kind.describe(result, row) : `row ${row.row}  ${kind.pending(row)}pending`,
    )
  }
  const { auditHead } = history
  // On standard error, so that the rows stay the only lines of the report.
  if (auditHead !== undefined)
    ctx.io.note(`The audit log ended with ${auditHead}. Check it: tapchip audit verify --batch ${id}`)
  return afterDamage(ctx, history)
}

export const resumeOld = async (ctx: CliContext, id: string, options: ResumeOptions): Promise<ExitCode> => {
  const { kind, history } = await findBatch(ctx, id, kinds)
  const { header, copy } = history
  const isAlive = history.status === 'running'
  // Where the daemon hears nothing of it, its process id belongs to another program now.
  if (isAlive && copy?.state !== 'stopped' && !options.yes && !options.takeOver) {
    throw new CliError(`Batch ${header.id} is still running, as process ${header.pid}.`, {
      advice: 'If that process is now another program: --yes',
    })
  }
  await assertSameDaemon(ctx, header)
  return resumeBatch(ctx, kind, history, options)
}

export const undoOld = async (
  ctx: CliContext,
  id: string,
  options: { readonly yes: boolean; readonly rate: number | undefined; readonly skipDamaged: boolean },
): Promise<ExitCode> => {
  const { kind, history } = await findBatch(ctx, id, kinds, options.skipDamaged)
  const code = await undoBatch(ctx, kind, history, options)
  return code === exitCodes.done ? afterDamage(ctx, history) : code
}

export const removeOld = async (ctx: CliContext, id: string, confirm: () => Promise<void>): Promise<void> => {
  const files = [journalPath(ctx.system, id), archivePath(ctx.system, id)]
  const isHere = isBatchId(id) && files.some((file) => existsSync(file))
  const { adminToken, apiKey } = ctx.config()
  const isAdmin = adminToken() !== undefined
  const asksDaemon = isBatchId(id) && (!isHere || isAdmin || apiKey !== undefined)
  const isKept = asksDaemon && (await remoteBatches(ctx, { id })).length > 0
  if (!isHere && !isKept)
    throw new UsageError(`There is no batch "${id}".`, 'List them: tapchip batch list --all')
  if (isHere && !isKept) await assertStopped(ctx, id)
  await confirm()
  if (isKept) {
    const key = isAdmin ? 'DELETE /admin/batch-journals/:id' : 'DELETE /batch-journals/:id'
    await ctx.call(key, { params: { id } })
  } else await ctx.beforeChange(`Would remove the journal of batch ${id}`)
  for (const file of files) rmSync(file, { force: true })
}

/** The daemon says so of those that it knows. */
const assertStopped = async (ctx: CliContext, id: string): Promise<void> => {
  // One that cannot be read may be removed.
  const batch = await readBatch(ctx.system, id, kinds, true).catch(() => undefined)
  if (batch?.history.status !== 'running') return
  throw new CliError(`Batch ${id} is still running, as process ${batch.history.header.pid}.`, {
    advice: `If that process is now another program, delete ${journalPath(ctx.system, id)}`,
  })
}
