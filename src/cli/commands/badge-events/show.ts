import { defineCommand } from '../../command/define.ts'
import { choice } from '../../command/options.ts'
import { eventArgument, readEventId } from './event.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show a badge event as apps read it; this needs no admin token',
  description:
    'Show a badge event as apps read it. A private event needs an API key of its team. With --as event or --as metadata: ' +
    "what POAP's own clients read of an event of the embedded provider, and of its badges.",
  examples: ['badge-events show 4', 'badge-events show 4 --as metadata --json'],
  args: eventArgument,
  options: { as: choice('--as <form>', 'As POAP describes events, or their badges', ['event', 'metadata']) },
  run: async (ctx, { args, options }) => {
    const event = await ctx.call('GET /badge-events/:id', { params: { id: readEventId(args.event) } })
    const { poapEventId } = event
    if (options.as === 'event') {
      const shown = await ctx.call('GET /events/id/:id', { params: { id: poapEventId } })
      await ctx.io.one(shown, ({ id, fancy_id, name, image_url }) => ({
        'Id at the provider': id,
        'Fancy id': fancy_id,
        Name: name,
        Image: image_url,
      }))
    } else if (options.as === 'metadata') {
      const params = { eventId: poapEventId, tokenId: '1' }
      const shown = await ctx.call('GET /metadata/:eventId/:tokenId', { params })
      await ctx.io.one(shown, ({ name, description, image }) => ({
        Name: name,
        Description: description,
        Image: image,
      }))
    } else
      await ctx.io.one(event, (it) => ({
        Id: it.id,
        'Id at the provider': poapEventId,
        Name: it.name,
        Description: it.description || undefined,
        Status: it.status,
        Place: [it.city, it.country].filter(Boolean).join(', ') || undefined,
        Days: `${it.startDate} to ${it.endDate}`,
        Claimable: `until ${it.expiryDate}`,
        Website: it.eventURL || undefined,
        Image: it.imageUrl || undefined,
      }))
  },
})
