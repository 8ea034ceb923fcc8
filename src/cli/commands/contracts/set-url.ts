import { defineCommand } from '../../command/define.ts'
import { flag, team } from '../../command/options.ts'
import { fields, findContract, printWarnings, symbolArgument } from './contract.ts'

export const setUrl = defineCommand({
  name: 'set-url',
  summary: "Point a contract to this daemon's base URL, where its metadata is",
  description:
    "Point a contract to this daemon's base URL, where wallets and marketplaces look for its metadata. On the embedded chain that " +
    'happens automatically; elsewhere it costs gas, so it waits for this command.',
  examples: ['contracts set-url JKT', 'contracts set-url JKT --force'],
  args: symbolArgument,
  options: { force: flag('--force', 'Also if the contract already has this URL'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id } = await findContract(ctx, args.symbol, options.team)
    const result = await ctx.call('POST /admin/contracts/:id/service-url', {
      params: { id },
      body: { force: options.force },
    })
    await ctx.io.one(result, fields)
    printWarnings(ctx, result.warnings)
    ctx.io.hint(
      result.sentTransactionId === null
        ? 'Unchanged: the contract already has this base URL. To send it again: --force'
        : `It is on its way. Follow it: tapchip transactions show ${result.sentTransactionId}`,
    )
  },
})
