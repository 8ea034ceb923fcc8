import { defineCommand } from '../../command/define.ts'
import { findId, printTransaction, transactionArgument } from './transaction.ts'

export const show = defineCommand({
  name: 'show',
  summary: 'Show a transaction: where it is, what to do, and every attempt that was signed',
  examples: ['transactions show 7', 'transactions show 0x5b19…271b --json'],
  args: transactionArgument,
  run: async (ctx, { args }) => {
    const id = await findId(ctx, args.transaction)
    await printTransaction(ctx, await ctx.call('GET /admin/transactions/:id', { params: { id } }))
  },
})
