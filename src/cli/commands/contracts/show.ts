import { defineCommand } from '../../command/define.ts'
import { team } from '../../command/options.ts'
import { fields, findContract, onChainFields, printWarnings, symbolArgument } from './contract.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show a contract, and what its chain has at its address',
  description:
    'Show a contract, and what its chain has at its address: whether there is code and whether it is what Tapchip deploys, ' +
    "who owns it, and whether it trusts this daemon's sign verifier.",
  examples: ['contracts show JKT', "contracts show JKT --json | jq -r '.code, .owner'"],
  args: symbolArgument,
  options: { team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id } = await findContract(ctx, args.symbol, options.team)
    const contract = await ctx.call('GET /admin/contracts/:id', { params: { id } })
    await ctx.io.one(contract, (it) => ({ ...fields(it), ...onChainFields(it) }))
    printWarnings(ctx, contract.warnings)
  },
})
