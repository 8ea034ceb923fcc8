import { defineCommand } from '../../command/define.ts'
import { argument, integer } from '../../command/options.ts'

export const held = defineCommand({
  name: 'held',
  summary: 'List the badges that an address has from the embedded provider; this needs no admin token',
  examples: [
    'badge-events held 0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819',
    'badge-events held 0x8f3c2A7d1e5B9046A2CD7E81F0B3c4D5e6f70819 --event 100000',
  ],
  args: { address: argument('address', 'The address of the person') },
  options: {
    event: integer('--event <id>', 'Its badge of this event alone, by the id at the provider', [
      1,
      2 ** 53 - 1,
    ]),
  },
  run: async (ctx, { args: { address }, options: { event } }) => {
    await ctx.io.list(
      event === undefined
        ? await ctx.call('GET /actions/scan/:address', { params: { address } })
        : [await ctx.call('GET /actions/scan/:address/:eventId', { params: { address, eventId: event } })],
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
