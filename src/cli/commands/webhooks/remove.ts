import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { webhookArgument, webhookId } from './webhook.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a webhook with its deliveries, those that wait as well',
  examples: ['webhooks remove 2'],
  args: webhookArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = webhookId(args.id)
    await ctx.prompts.confirm(options.yes, `Remove webhook ${id}? What waits for it is not sent.`)
    await ctx.io.one(await ctx.call('DELETE /admin/webhooks/:id', { params: { id } }), () => ({
      Removed: id,
    }))
    ctx.io.hint('See what is left: tapchip webhooks list')
  },
})
