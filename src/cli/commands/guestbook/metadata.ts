import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { metadataFields, metadataFlags, readEventMetadata } from '../metadata.ts'
import { eventArgument, eventFlags, readEvent } from './event.ts'

export const metadata = defineCommand({
  name: 'metadata',
  summary: 'Replace the metadata of an event, and ask marketplaces to refresh it',
  description: `Replace the metadata of an event. ${metadataFields}`,
  examples: [
    'guestbook metadata 4 --file opening.json',
    'guestbook metadata --contract GB --token-id 1 --file opening.json --name "Opening night"',
  ],
  args: eventArgument,
  options: {
    ...eventFlags,
    ...metadataFlags,
    name: text('--name <name>', "The team's new label for it"),
  },
  run: async (ctx, { args, options }) => {
    ctx.needApiKey()
    const event = await readEvent(ctx, { ...options, ...args })
    const { name } = options
    const body = { ...event, metadata: await readEventMetadata(ctx, options), name }
    const done = await ctx.call('PATCH /events/metadata', { body })
    await ctx.io.one(done, () => ({
      Replaced: 'eventId' in event ? event.eventId : `#${event.tokenId} of contract ${event.contractId}`,
    }))
    ctx.io.hint(
      'Wallets and marketplaces are notified, and update when they choose to: tapchip guestbook list',
    )
  },
})
