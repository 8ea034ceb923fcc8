import { boxCannotBeUndone } from '../../batch/boxes.ts'
import { rateFlag } from '../../batch/input/flags.ts'
import { changedIn } from '../../batch/plan.ts'
import type { Totals } from '../../batch/sheet-kind.ts'
import { messagesOf } from '../../batch/sheet-kinds.ts'
import { hostName, runOn, runPlanned } from '../../batch/submit.ts'
import { ApiError } from '../../client/errors.ts'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { counted } from '../../io/text.ts'
import { readBox } from '../../nfc/saved-box.ts'
import type { FoundBatch } from './find.ts'
import { batchArgument, findBatch } from './find.ts'
import { detach } from './resume.ts'

export const undo = defineCommand({
  name: 'undo',
  summary: 'Undo what a batch changed',
  description:
    'Undo what a batch changed. What was changed again since then is left as it is, and reported as a conflict. ' +
    'An undo is a batch itself, and can be undone, unless it undid an import or badge assignments.',
  examples: ['batch undo b_1hq3v9k7s2m4xa --dry-run', 'batch undo friday-sale --yes'],
  args: batchArgument,
  options: { ...rateFlag, detach, yes },
  run: async (ctx, { args: { id }, options }) => {
    if (readBox(ctx.system, id)) throw boxCannotBeUndone()
    return undoFound(ctx, await findBatch(ctx, id), options)
  },
})

const undoFound = async (
  ctx: CliContext,
  { api, batch: undone, messages }: FoundBatch,
  flags: { readonly yes: boolean; readonly detach: boolean; readonly rate: number | undefined },
): Promise<ExitCode> => {
  await ctx.beforeWrite()
  const { contextName } = ctx.config()
  const from = { host: hostName(), ...(contextName === undefined ? {} : { context: contextName }) }
  const batch = await api.undo(undone.id, from).catch((error: unknown) => {
    if (!messages.isFinal || !(error instanceof ApiError) || error.statusCode !== 409) throw error
    throw new UsageError(error.message)
  })
  if (batch.total === 0) {
    await api.remove(batch.id).catch(() => undefined)
    ctx.io.note('The batch changed nothing. Nothing to do.')
    return exitCodes.done
  }
  const undoing = messagesOf(batch.kind)
  // It was begun before, and its question was answered then.
  if (batch.state !== 'uploading' && batch.state !== 'planned') {
    const resumes = batch.state === 'paused' || batch.state === 'failed'
    if (!resumes) await ctx.beforeChange(`Batch ${undone.id} is already being undone by batch ${batch.id}`)
    const going = resumes ? await api.resume(batch.id, { rate: flags.rate }) : batch
    return (await runOn(ctx, api, going, undoing, { flags })).exitCode
  }
  const ask = (totals: Totals) => {
    const count = changedIn(totals)
    const question = messages.undoQuestion?.(count) ?? `Take back ${counted(count, 'row')}?`
    return ctx.prompts.confirm(flags.yes, question + unaffectedRows(batch.total - count))
  }
  return (await runPlanned(ctx, api, batch, undoing, { flags, ask })).exitCode
}

const unaffectedRows = (count: number): string =>
  count === 0
    ? ''
    : ` ${counted(count, 'other row stays as it is', 'other rows stay as they are')}: --dry-run says why.`
