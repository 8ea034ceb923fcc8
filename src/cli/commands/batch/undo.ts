import { dryRun, previewRows } from '../../batch/edit-check.ts'
import { startBatch } from '../../batch/edit-run.ts'
import { type History, readHistory } from '../../batch/history.ts'
import { assertSameDaemon } from '../../batch/instance.ts'
import { checkMetadata, showMetadata } from '../../batch/metadata-check.ts'
import { metadataToPutBack, startMetadata } from '../../batch/metadata-run.ts'
import { rateFlag } from '../../batch/pace.ts'
import type { EditRow } from '../../batch/records.ts'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { counted } from '../../io/text.ts'
import { afterDamage, batchArgument, skipDamaged } from './summary.ts'

export const undo = defineCommand({
  name: 'undo',
  summary: 'Put back what a batch has changed',
  description:
    'Put back what a batch has changed. A chip that was changed again since is left as it is, and reported as failed. ' +
    'An undo is a batch itself, and can be undone.',
  examples: ['batch undo b_1hq3v9k7s2m4xa --dry-run', 'batch undo b_1hq3v9k7s2m4xa --yes'],
  args: batchArgument,
  options: { ...rateFlag, yes, skipDamaged },
  run: async (ctx, { args, options }) => {
    const history = await readHistory(ctx.at, args.id, options.skipDamaged)
    const code = await undoBatch(ctx, history, options)
    return code === exitCodes.done ? afterDamage(ctx, history) : code
  },
})

const undoBatch = async (
  ctx: CliContext,
  history: History,
  options: { readonly rate: number | undefined; readonly yes: boolean },
): Promise<ExitCode> => {
  const { id } = history.header
  if (history.header.kind === 'chips import') {
    throw new UsageError('An import cannot be undone.', 'Its chips go one by one: tapchip chips remove UID')
  }
  if (history.header.kind.startsWith('badge-events')) {
    throw new UsageError(
      'Badge events that were created, and those that were assigned, stay: they cannot be undone.',
    )
  }
  if (history.header.kind === 'phygitals transfer') {
    throw new UsageError(
      "Transfers cannot be undone: the tokens are their new owners' by now, who may have passed them on.",
      `Who had them before: tapchip batch report ${id}`,
    )
  }
  if (history.header.kind === 'nfc provision') {
    throw new UsageError(
      'Chips that were set up stay so: a batch cannot undo it.',
      'One by one, laid on the reader: tapchip nfc reset',
    )
  }
  ctx.needApiKey()
  await assertSameDaemon(ctx, history.header)
  if (history.header.kind.startsWith('phygitals')) return undoMetadata(ctx, history, options)
  const candidates = rowsToPutBack(history)
  if (candidates.length === 0) {
    ctx.io.note('The batch has changed nothing. Nothing to do.')
    return exitCodes.done
  }
  await ctx.prompts.confirm(options.yes, `Put back ${counted(candidates.length, 'chip')}?`)
  const preview = await previewRows(ctx, candidates)
  // A chip that shows the old value already is as it should be, whatever it went through.
  const rows = candidates.map((row) =>
    preview.get(row.row)?.previous === row.redirectUrl ? withoutExpected(row) : row,
  )
  if (ctx.flags.dryRun) return dryRun(ctx, rows)
  const input = { name: `undo of ${id}`, path: null, sha256: null }
  const { rate } = options
  const batch = { kind: 'chips undo', input, undoes: id, rows, rate } as const
  return (await startBatch(ctx, batch, preview)).exitCode
}

const undoMetadata = async (
  ctx: CliContext,
  history: History,
  { rate, yes }: { readonly rate: number | undefined; readonly yes: boolean },
): Promise<ExitCode> => {
  const { id } = history.header
  const rows = metadataToPutBack(history)
  if (rows.length === 0) {
    ctx.io.note('The batch has changed nothing that could be put back. Nothing to do.')
    return exitCodes.done
  }
  await ctx.prompts.confirm(yes, `Put back the metadata of ${counted(rows.length, 'token')}?`)
  const check = await checkMetadata(ctx, rows)
  if (ctx.flags.dryRun) return showMetadata(ctx, rows, check)
  const input = { name: `undo of ${id}`, path: null, sha256: null }
  return startMetadata(ctx, { kind: 'phygitals undo', input, undoes: id, rows, check, rate })
}

const withoutExpected = ({ row, uid, redirectUrl }: EditRow): EditRow => ({ row, uid, redirectUrl })

/**
 * Rows whose value is ours, as far as the journal tells. Rows that were on their way at a kill count: what stood
 * there before was seen by the check, and `expected` keeps us from touching one that was never written.
 */
const rowsToPutBack = ({ rows, results, sent }: History): EditRow[] =>
  rows.flatMap(({ row, uid, redirectUrl, previous: seen }) => {
    const result = results.get(row)
    const times = sent.get(row) ?? 0
    const uncertain = result === undefined ? times > 0 : result.status === 'unchanged' && times > 1
    const previous = result?.status === 'changed' ? result.previous : uncertain ? seen : undefined
    if (previous === undefined || previous === redirectUrl) return []
    return [{ row, uid, redirectUrl: previous, expected: redirectUrl }]
  })
