import { defineCommand } from '../../command/define.ts'
import { text } from '../../command/options.ts'
import { metadataFields, metadataFlags, readEventMetadata } from '../metadata.ts'
import { idempotencyFlag, sendOnce } from '../sending.ts'
import { contractFlag, needContract } from './contract.ts'

export const create = defineCommand({
  name: 'create',
  summary: 'Create an event on a guestbook contract',
  description: `Create an event on a guestbook contract: a token ID of which each guest gets one token. ${metadataFields}`,
  examples: [
    'guestbook create --contract GB --name Opening --token-id 1 --file opening.json',
    `guestbook create --contract 3 --name Opening --token-id 1 --metadata '{"name":"Opening","collection":"Guests","description":"","image":"","attributes":[]}'`,
  ],
  options: {
    ...contractFlag,
    name: text('--name <name>', "The team's label for it"),
    tokenId: text('--token-id <id>', 'Its token ID, unused on the contract'),
    ...metadataFlags,
    ...idempotencyFlag,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const contractId = await needContract(ctx, options.contract)
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'Name of the event' })
    const tokenId = await ctx.prompts.text(options.tokenId, { flag: '--token-id', message: 'Token id' })
    const metadata = await readEventMetadata(ctx, options)
    const body = { name, tokenId, contractId, metadata }
    const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /events', { body, idempotencyKey }),
    )
    await ctx.io.one(made, ({ id }) => ({ Id: id, Name: name, 'Token id': tokenId }))
    ctx.io.hint(
      `Let chips give codes for it: tapchip guestbook assign ${made.id} UID. Mint to a guest: tapchip guestbook mint ${made.id} --recipient WHO`,
    )
  },
})
