import { defineCommand } from '../../command/define.ts'

export const contracts = defineCommand({
  name: 'contracts',
  summary: 'List the guestbook contracts',
  examples: ['guestbook contracts', 'guestbook contracts --json'],
  run: async (ctx) => {
    ctx.needApiKey()
    await ctx.io.list(
      await ctx.call('GET /events/contracts'),
      {
        ID: (contract) => contract.id,
        SYMBOL: (contract) => contract.symbol,
        NAME: (contract) => contract.name,
        CHAIN: (contract) => contract.chainId,
        ADDRESS: (contract) => contract.address,
        STATUS: (contract) => contract.status,
      },
      'No guestbook contracts. Deploy one: tapchip guestbook deploy --help',
    )
  },
})
