import { changedIn, doesIn, planTotals } from '../../batch/plan.ts'
import { runOn } from '../../batch/submit.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, yes } from '../../command/options.ts'
import { cleanLines, counted } from '../../io/text.ts'
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
    const does = doesIn(totals).replace(/^ \((.*)\)$/, ' It $1.')
    const plan = `${(messages.planTotals ?? planTotals)(totals)}${does}`
    ctx.io.note(cleanLines(`${about}${note}\n${plan}`))
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Approve a change of ${counted(changedIn(totals), 'row')}${doesIn(totals)}?`,
    )
    const approved = await api.approve(batch.id)
    return (await runOn(ctx, api, approved, messages, { flags: options, orStatus: true })).exitCode
  },
})
