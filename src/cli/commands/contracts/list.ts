import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { describeTwoTap } from './contract.ts'

export const list = defineCommand({
  name: 'list',
  summary: "List a team's token contracts",
  examples: ['contracts list', 'contracts list --json'],
  options: { team },
  run: async (ctx, { options }) => {
    const contracts = await ctx.call('GET /admin/contracts', { query: { team: options.team } })
    await ctx.io.list(
      contracts,
      {
        ID: (contract) => contract.id,
        SYMBOL: (contract) => contract.symbol,
        NAME: (contract) => contract.name,
        KIND: (contract) => contract.kind,
        CHAIN: (contract) => contract.chainId,
        ADDRESS: (contract) => contract.address,
        STATUS: (contract) => contract.status,
        'TWO TAPS': describeTwoTap,
        TEAM: (contract) => contract.team,
      },
      'No contracts. Deploy one: tapchip contracts deploy --help',
    )
    for (const { symbol, problem } of contracts)
      if (problem !== null) ctx.io.warn(`Warning: ${symbol}: ${problem}`)
  },
})
