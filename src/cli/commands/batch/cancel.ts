import { rmSync } from 'node:fs'
import { removeBox } from '../../batch/boxes.ts'
import { oldJournal } from '../../batch/old-journals.ts'
import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { readBox } from '../../nfc/saved-box.ts'
import { batchArgument, findBatch, printStep } from './find.ts'

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'Cancel a waiting or paused batch',
  description:
    'Cancel a waiting or paused batch for good. Rows that are done stay as they are; to undo them: batch undo.',
  examples: ['batch cancel b_1hq3v9k7s2m4xa', 'batch cancel friday-sale --yes'],
  args: batchArgument,
  options: { yes },
  run: async (ctx, { args: { id }, options }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Cancel batch ${id}? It cannot be resumed after that.`,
    )
    await printStep(ctx, await api.cancel(batch.id), messages)
    if (batch.changed > 0) ctx.io.hint(`Undo what it did: tapchip batch undo ${id}`)
  },
})

export const pause = defineCommand({
  name: 'pause',
  summary: 'Pause a batch that runs',
  description: 'Pause a running batch. Rows in progress are finished; the others wait for batch resume.',
  examples: ['batch pause b_1hq3v9k7s2m4xa'],
  args: batchArgument,
  run: async (ctx, { args: { id } }) => {
    const { api, batch, messages } = await findBatch(ctx, id)
    await printStep(ctx, await api.pause(batch.id), messages)
    ctx.io.hint(`Continue: tapchip batch resume ${id}`)
  },
})

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a batch with its rows and results',
  description:
    'Remove a batch with its rows and results. What the batch changed stays as it is, and can no longer be undone. A ' +
    'running batch cannot be removed.',
  examples: ['batch remove b_1hq3v9k7s2m4xa', 'batch remove friday-sale --yes'],
  args: batchArgument,
  options: { yes },
  run: async (ctx, { args: { id }, options }) => {
    const confirm = () =>
      ctx.prompts.confirm(
        ctx.prompts.named(options.yes),
        `Remove batch ${id}? It can no longer be resumed or undone.`,
      )
    const box = readBox(ctx.system, id)
    const old = oldJournal(ctx.system, id)
    if (box) await removeBox(ctx, box, confirm)
    else if (old) {
      await ctx.beforeChange(`Would remove ${old.path}`)
      await confirm()
      rmSync(old.path, { force: true })
    } else {
      const { api, batch } = await findBatch(ctx, id)
      await confirm()
      const key = api.isAdmin ? 'DELETE /admin/batches/:id' : 'DELETE /batches/:id'
      await ctx.call(key, { params: { id: batch.id } })
    }
    await ctx.io.one({ success: true }, () => ({ Removed: id }))
    ctx.io.hint('See what is left: tapchip batch list --all')
  },
})
