import type { ElementOf } from '../../client/types.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, integer, team } from '../../command/options.ts'
import { fetchPage, pageFlags } from '../paging.ts'

type Delivery = ElementOf<'GET /admin/webhook-deliveries'>

const states = ['waiting', 'delivered', 'failed', 'dropped'] as const satisfies readonly Delivery['state'][]

export const deliveries = defineCommand({
  name: 'deliveries',
  summary: 'List what webhooks were told, or will be, newest first',
  examples: [
    'webhooks deliveries',
    'webhooks deliveries --webhook 2 --state failed',
    'webhooks deliveries --state waiting --json',
  ],
  options: {
    webhook: integer('--webhook <id>', 'Only of this webhook', [1, Number.MAX_SAFE_INTEGER]),
    state: choice('--state <state>', 'Only in this state', states),
    ...pageFlags('delivery'),
    team,
  },
  run: async (ctx, { options }) => {
    const { limit, csv: _, ...query } = options
    const { page, hintNextPage } = await fetchPage(ctx, limit, (limit) =>
      ctx.call('GET /admin/webhook-deliveries', { query: { ...query, limit } }),
    )
    await ctx.io.list(
      page,
      {
        ID: (one) => one.id,
        AT: (one) => one.at,
        TYPE: (one) => one.type,
        STATE: (one) => one.state,
        ATTEMPTS: (one) => one.attempts,
        ANSWER: (one) => one.statusCode,
        ERROR: (one) => one.error,
        'NEXT TRY': (one) => one.nextTryAt,
        WEBHOOK: (one) => one.webhook,
      },
      'No deliveries.',
    )
    hintNextPage()
  },
})
