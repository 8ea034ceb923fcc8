import { defineCommand } from '../../command/define.ts'
import { printDelivery, webhookArgument, webhookId } from './webhook.ts'

export const test = defineCommand({
  name: 'test',
  summary: 'Send a webhook one message now, and say what it answered',
  description:
    'Send a webhook one message of the type webhook.test now, once, and say what the receiver answered. Exit code 1 ' +
    'means that it did not arrive.',
  examples: ['webhooks test 2'],
  args: webhookArgument,
  run: async (ctx, { args }) => {
    ctx.needAdmin()
    const params = { id: webhookId(args.id) }
    return printDelivery(ctx, await ctx.call('POST /admin/webhooks/:id/test', { params }))
  },
})
