import { defineCommand } from '../../command/define.ts'
import { contractFlags, readContractFlags } from '../contracts/contract.ts'
import { idempotencyFlag, sendOnce } from '../sending.ts'

export const deploy = defineCommand({
  name: 'deploy',
  summary: 'Deploy a guestbook contract',
  description:
    'Deploy a guestbook contract: the collection whose tokens guests get, one token ID per event. ' +
    'Events and mints can be requested at once; they wait until it is deployed.',
  examples: [
    'guestbook deploy --symbol GB --name Guests --chain-id 31337',
    'guestbook deploy --symbol GB --name Guests --chain-id 8453 --json',
  ],
  options: {
    ...contractFlags,
    ...idempotencyFlag,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const body = await readContractFlags(ctx, options)
    const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /events/contracts', { body, idempotencyKey }),
    )
    await ctx.io.one(made, ({ contractId }) => ({
      Id: contractId,
      Symbol: body.symbol,
      Chain: body.chainId,
    }))
    ctx.io.hint(
      `It is on its way: tapchip guestbook contracts. Create an event on it: tapchip guestbook create --contract ${made.contractId} --name NAME --token-id 1 --file event.json`,
    )
  },
})
