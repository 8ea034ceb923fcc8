import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { stateOf } from './webhook.ts'

export const list = defineCommand({
  name: 'list',
  summary: "List a team's webhooks, without their secrets",
  examples: ['webhooks list', 'webhooks list --team Acme --json'],
  options: { team },
  run: async (ctx, { options }) => {
    await ctx.io.list(
      await ctx.call('GET /admin/webhooks', { query: { team: options.team } }),
      {
        ID: (webhook) => webhook.id,
        URL: (webhook) => webhook.url,
        EVENTS: (webhook) => webhook.events,
        STATE: stateOf,
        WAITING: (webhook) => webhook.waiting,
        'ROLLING UNTIL': (webhook) => webhook.rollingUntil,
        TEAM: (webhook) => webhook.team,
      },
      'No webhooks. Register one: tapchip webhooks create --url URL',
    )
  },
})
