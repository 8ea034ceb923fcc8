import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { codeFlag, idempotencyFlag, sendOnce } from '../sending.ts'
import { eventArgument, readEventId } from './event.ts'

export const mint = defineCommand({
  name: 'mint',
  summary: 'Mint a badge with the code of a tap, which uses up the code',
  examples: [
    'badge-events mint 4 --code V1StGXR8_Z5jdHi6B-myT --recipient alice.eth',
    'badge-events mint 4 --code V1StGXR8_Z5jdHi6B-myT --recipient ana@example.org --device-id phone-7',
  ],
  args: eventArgument,
  options: {
    ...codeFlag,
    recipient: text('--recipient <who>', 'An address (0x…), an ENS name or an email address'),
    deviceId: text('--device-id <id>', 'A device can mint an event only once'),
    ...idempotencyFlag,
  },
  run: async (ctx, { args, options }) => {
    const poapEventId = readEventId(args.event)
    const { prompts } = ctx
    const code = await prompts.text(options.code, { flag: '--code', message: 'Code of a tap' })
    const recipient = await prompts.text(options.recipient, { flag: '--recipient', message: 'Who gets it' })
    const body = { recipient, poapEventId, deviceId: options.deviceId }
    const minted = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /badge-events/mint', { code, body, idempotencyKey }),
    )
    await ctx.io.one(minted, () => ({ Event: poapEventId, Recipient: recipient, Minted: 'yes' }))
    ctx.io.hint(`See who has badges of it: tapchip badge-events claims ${poapEventId}`)
  },
})
