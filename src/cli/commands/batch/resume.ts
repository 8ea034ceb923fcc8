import { rateFlag } from '../../batch/input/flags.ts'
import { changedIn, describeEffects, planTotals } from '../../batch/plan.ts'
import { runOn } from '../../batch/submit.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes } from '../../errors.ts'
import { cleanLines, counted, formatNumber } from '../../io/text.ts'
import { readerOption } from '../../nfc/readers.ts'
import { readBox, type SavedBox } from '../../nfc/saved-box.ts'
import { batchArgument, findBatch } from './find.ts'

export const detach = flag('--detach', 'Return once the batch has started, and print its id, name and state')

export const approve = defineCommand({
  name: 'approve',
  summary: 'Approve a batch that somebody else proposed, and follow it',
  description:
    'Approve a batch that somebody else proposed, and follow it. It takes a credential with the scope approve that is not ' +
    'the one that proposed the batch. What was approved is what runs: a row whose chip changed since the plan is a conflict.',
  examples: ['batch approve b_1hq3v9k7s2m4xa', 'batch approve friday-sale --detach --json'],
  args: batchArgument,
  options: { detach, yes },
  run: async (ctx, { args: { id }, options }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    const totals = Object.fromEntries(
      Object.entries(batch.plan ?? {}).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number',
      ),
    )
    const note = batch.note === null ? '' : `\n${batch.note}`
    const about = `${batch.kind}, proposed by ${batch.startedBy}: ${counted(batch.total, 'row')}`
    // Also where --yes leaves out the question: what nobody should overlook stands last.
    const does = describeEffects(totals).replace(/^ \((.*)\)$/, ' It $1.')
    const plan = `${(messages.planTotals ?? planTotals)(totals)}${does}`
    ctx.io.note(cleanLines(`${about}${note}\n${plan}`))
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Approve a change of ${counted(changedIn(totals), 'row')}${describeEffects(totals)}?`,
    )
    const approved = await api.approve(batch.id)
    return (await runOn(ctx, api, approved, messages, { flags: options, orStatus: true })).exitCode
  },
})

export const resume = defineCommand({
  name: 'resume',
  summary: 'Resume a batch that was paused or has failed, and follow it',
  description:
    'Resume the rows without a result of a batch that was paused or has failed, and follow it. It may have been started on another machine.',
  examples: [
    'batch resume b_1hq3v9k7s2m4xa',
    'batch resume friday-sale --detach',
    'batch resume b_1hq3v9k7s2m4xa --retry-failed --json',
  ],
  args: batchArgument,
  options: {
    retryFailed: flag('--retry-failed', 'Also retry the rows that failed or are in conflict'),
    file: text(
      '-f, --file <file>',
      'The rows of a box of chips again, if they came from standard input',
      'file',
    ),
    ...rateFlag,
    reader: readerOption,
    detach,
    yes,
  },
  run: async (ctx, { args: { id }, options }) => {
    const box = readBox(ctx.system, id)
    if (box) return resumeHere(ctx, box, options)
    const { api, batch, messages } = await findBatch(ctx, id)
    const { retryFailed, rate } = options
    if (batch.state === 'done' && (!retryFailed || batch.failed + batch.conflict === 0)) {
      ctx.io.note('Every row has a result. Nothing to do.')
      return exitCodes.done
    }
    if (batch.state === 'running') await ctx.beforeChange(`Batch ${batch.id} is running already`)
    const resumed = batch.state === 'running' ? batch : await api.resume(batch.id, { retryFailed, rate })
    const remaining = formatNumber(
      retryFailed ? batch.total - batch.changed - batch.unchanged : batch.total - batch.done,
    )
    ctx.io.note(`Batch ${batch.id}: ${remaining} of ${formatNumber(batch.total)} rows are left`)
    // Rows are counted again when failed ones are retried, since each already has a result.
    const after = retryFailed || batch.done >= batch.total ? 0 : batch.done
    return (await runOn(ctx, api, resumed, messages, { flags: options }, after)).exitCode
  },
})

const resumeHere = async (
  ctx: CliContext,
  box: SavedBox,
  options: {
    readonly file: string | undefined
    readonly reader: string | undefined
  },
): Promise<ExitCode> => {
  ctx.needAdmin()
  const [{ resumeBox }, { lines }] = await Promise.all([
    import('../../nfc/box.ts'),
    import('../../nfc/box-view.ts'),
  ])
  return resumeBox(ctx, box, { ...options, view: lines(ctx) })
}
