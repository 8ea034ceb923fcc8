import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import { readId } from '../named.ts'
import { printDelivery } from './webhook.ts'

export const redeliver = defineCommand({
  name: 'redeliver',
  summary: 'Send a delivery again now, and say what the webhook answered',
  description:
    'Send a delivery again now, whatever became of it, under the same message id, by which a receiver knows it. Exit ' +
    'code 1 means that it did not arrive; then it is tried again like a new one. One that still waits is refused.',
  examples: ['webhooks redeliver 41'],
  args: { delivery: argument('delivery', 'Its id (webhooks deliveries)') },
  run: async (ctx, { args }) => {
    ctx.needAdmin()
    const id = readId(args.delivery, { noun: 'delivery', list: 'webhooks deliveries' })
    return printDelivery(
      ctx,
      await ctx.call('POST /admin/webhook-deliveries/:id/redeliver', { params: { id } }),
    )
  },
})
