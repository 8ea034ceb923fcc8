import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'

export const held = defineCommand({
  name: 'held',
  summary: 'List the badges that an address has from the embedded provider; this needs no admin token',
  examples: ['badge-events held 0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819'],
  args: { address: argument('address', 'The address of the person') },
  run: async (ctx, { args }) => {
    await ctx.io.list(
      await ctx.call('GET /actions/scan/:address', { params: { address: args.address } }),
      {
        BADGE: ({ tokenId }) => tokenId,
        EVENT: ({ event }) => event.id,
        NAME: ({ event }) => event.name,
        SINCE: ({ created }) => created,
      },
      'This address has no badges from here.',
    )
  },
})
