import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import { findId, printTransaction, transactionArgument } from './transaction.ts'

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'Give a transaction up that is not mined yet',
  description:
    'Give a transaction up: at once where nothing of it has left, else by an empty one with its nonce, and then whichever is ' +
    'mined decides. A code that was used up for it stays used.',
  examples: ['transactions cancel 7 --reason "wrong recipient"'],
  args: transactionArgument,
  options: { reason: text('--reason <text>', 'Why, for the audit log'), yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = await findId(ctx, args.transaction)
    const reason = await ctx.prompts.text(options.reason, { flag: '--reason', message: 'Why' })
    await ctx.prompts.confirm(options.yes, `Cancel transaction ${id}? Nothing sends it again.`)
    const request = { params: { id }, body: { reason } }
    await printTransaction(ctx, await ctx.call('POST /admin/transactions/:id/cancel', request))
  },
})
