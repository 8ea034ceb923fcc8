import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'

export const status = defineCommand({
  name: 'status',
  summary: 'Show where a transaction is, as apps read it; this needs no admin token',
  examples: ['transactions status 0x5b19…271b'],
  args: { hash: argument('hash', 'Any hash that the transaction ever had') },
  run: async (ctx, { args }) => {
    await ctx.io.one(await ctx.call('GET /transactions/:hash', { params: { hash: args.hash } }), (it) => ({
      State: it.state,
      Hash: it.hash,
      'First hash': it.initialTxHash,
      Chain: it.chainId,
      Error: it.error,
    }))
  },
})
