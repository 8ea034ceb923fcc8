import { defineCommand } from '../../command/define.ts'
import { flag, team } from '../../command/options.ts'
import { fields, findContract, symbolArgument } from './contract.ts'

export const setUrl = defineCommand({
  name: 'set-url',
  summary: "Tell a contract this daemon's base URL, where its metadata is looked for",
  description:
    "Tell a contract this daemon's base URL, where wallets and marketplaces look for its metadata. On the embedded chain that " +
    'happens by itself; elsewhere it costs gas, so it waits for this command.',
  examples: ['contracts set-url JKT', 'contracts set-url JKT --force'],
  args: symbolArgument,
  options: { force: flag('--force', 'Also where it was told this one before'), team },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const { id } = await findContract(ctx, args.symbol, options.team)
    const told = await ctx.call('POST /admin/contracts/:id/service-url', {
      params: { id },
      body: { force: options.force },
    })
    await ctx.io.one(told, fields)
    for (const warning of told.warnings) ctx.io.warn(`Warning: ${warning}`)
    ctx.io.hint(
      told.sentTransactionId === null
        ? 'Unchanged: it was told this base URL before. Tell it again: --force'
        : `It is on its way. Where it is: tapchip transactions show ${told.sentTransactionId}`,
    )
  },
})
