import { shownBox } from '../../batch/boxes.ts'
import { defineCommand } from '../../command/define.ts'
import { readBox } from '../../nfc/saved-box.ts'
import { batchArgument, findBatch } from './find.ts'
import { printShown, shownBatch } from './shown.ts'

export const status = defineCommand({
  name: 'status',
  summary: 'Show where a batch stands',
  examples: ['batch status b_1hq3v9k7s2m4xa', 'batch status friday-sale --json'],
  args: batchArgument,
  run: async (ctx, { args: { id } }) => {
    const box = readBox(ctx.system, id)
    const shown = box ? shownBox(box) : shownBatch((await findBatch(ctx, id)).batch)
    await printShown(ctx, shown)
    const next: { readonly [state in string]?: string } = {
      paused: `Continue: tapchip batch resume ${id}`,
      failed: `Continue: tapchip batch resume ${id}`,
      ...(box ? {} : { running: `Follow it: tapchip batch follow ${id}` }),
      proposed: `Approve it: tapchip batch approve ${id}`,
    }
    const hint = next[shown.state]
    if (hint !== undefined) ctx.io.hint(hint)
  },
})
