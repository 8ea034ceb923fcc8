import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { pageFlags } from '../paging.ts'

export const list = defineCommand({
  name: 'list',
  summary: 'List badge events with their status and the codes that are left',
  examples: ['badge-events list', 'badge-events list --team Acme --json'],
  options: {
    ...pageFlags('one'),
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    await ctx.io.list(
      await ctx.call('GET /admin/badge-events', { query: options }),
      {
        ID: (event) => event.id,
        NAME: (event) => event.name,
        STATUS: (event) => event.status,
        LEFT: (event) => `${event.remainingCodesCount} of ${event.requestedCodes}`,
        DAYS: (event) => `${event.startDate} to ${event.endDate}`,
        CLAIMABLE: (event) => `until ${event.expiryDate}`,
        PROVIDER: (event) => `${event.provider} ${event.poapEventId}`,
        TEAM: (event) => event.team,
      },
      'No badge events. Create one: tapchip badge-events create',
    )
  },
})
