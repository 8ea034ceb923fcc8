import { defineCommand } from '../../command/define.ts'
import { colons } from '../../uid.ts'
import { pageFlags } from '../paging.ts'
import { eventArgument, readEventId } from './event.ts'

export const claims = defineCommand({
  name: 'claims',
  summary: 'List who has badges of an event',
  examples: ['badge-events claims 4', 'badge-events claims 4 --limit 1000 --json'],
  args: eventArgument,
  options: {
    ...pageFlags('one'),
  },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const params = { id: readEventId(args.event) }
    await ctx.io.list(
      await ctx.call('GET /admin/badge-events/:id/claims', { params, query: options }),
      {
        ID: (claim) => claim.id,
        RECIPIENT: (claim) => claim.recipient,
        STATE: (claim) => claim.reason ?? claim.state,
        CHIP: (claim) => colons(claim.uid),
        TRANSACTION: (claim) => claim.transactionHash ?? claim.transaction,
        WHEN: (claim) => claim.claimedAt ?? claim.createdAt,
      },
      'Nobody has a badge of this event yet.',
    )
  },
})
