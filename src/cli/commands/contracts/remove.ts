import { defineCommand } from '../../command/define.ts'
import { team, yes } from '../../command/options.ts'
import { findContract, symbolArgument } from './contract.ts'

export const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a contract that was registered by mistake, or never deployed',
  examples: ['contracts remove OLD'],
  args: symbolArgument,
  options: { team, yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id, symbol, address, chainId } = await findContract(ctx, args.symbol, options.team)
    const where = address === null ? `chain ${chainId}` : `${address} on chain ${chainId}`
    await ctx.prompts.confirm(options.yes, `Remove the contract ${symbol} (${where})?`)
    const request = { params: { id } }
    await ctx.io.one(await ctx.call('DELETE /admin/contracts/:id', request), () => ({ Removed: symbol }))
    ctx.io.hint('Its symbol and its address are free again: tapchip contracts register')
  },
})
