import { defineCommand } from '../../command/define.ts'
import { integer, text } from '../../command/options.ts'
import { idempotencyFlag, sendOnce } from '../sending.ts'

export const deploy = defineCommand({
  name: 'deploy',
  summary: 'Deploy a guestbook contract',
  description:
    'Deploy a guestbook contract: the collection whose tokens guests get, one token id an event. ' +
    'Events and mints can be asked for at once; they wait until it is there.',
  examples: [
    'guestbook deploy --symbol GB --name Guests --chain-id 31337',
    'guestbook deploy --symbol GB --name Guests --chain-id 8453 --json',
  ],
  options: {
    symbol: text('--symbol <symbol>', 'Its symbol, unique in the team'),
    name: text('--name <name>', 'Its name'),
    chainId: integer('--chain-id <id>', 'Its chain', [1, Number.MAX_SAFE_INTEGER]),
    ...idempotencyFlag,
  },
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const symbol = await ctx.prompts.text(options.symbol, { flag: '--symbol', message: 'Symbol' })
    const name = await ctx.prompts.text(options.name, { flag: '--name', message: 'Name' })
    const chainId = await ctx.prompts.text(options.chainId?.toString(), {
      flag: '--chain-id',
      message: 'Chain id',
    })
    const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /events/contracts', { body: { name, symbol, chainId }, idempotencyKey }),
    )
    await ctx.io.one(made, ({ contractId }) => ({ Id: contractId, Symbol: symbol, Chain: chainId }))
    ctx.io.hint(
      `It is on its way: tapchip guestbook contracts. An event on it: tapchip guestbook create --contract ${made.contractId} --name NAME --token-id 1 --file event.json`,
    )
  },
})
