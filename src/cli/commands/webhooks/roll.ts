import { defineCommand } from '../../command/define.ts'
import { yes } from '../../command/options.ts'
import { printSecret, webhookArgument, webhookId } from './webhook.ts'

export const roll = defineCommand({
  name: 'roll',
  summary: 'Give a webhook a new secret; for 24 hours, the old one signs too',
  examples: ['webhooks roll 2'],
  args: webhookArgument,
  options: { yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = webhookId(args.id)
    const question = `Give webhook ${id} a new secret? The old one, and any older one at once, ends in 24 hours.`
    await ctx.prompts.confirm(ctx.prompts.named(options.yes), question)
    const rolled = await ctx.call('POST /admin/webhooks/:id/roll', { params: { id } })
    await printSecret(ctx, rolled)
    ctx.io.note(`Until ${rolled.rollingUntil}, messages have the signatures of both secrets.`)
  },
})
