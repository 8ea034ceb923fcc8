import { defineCommand } from '../../command/define.ts'
import { text, yes } from '../../command/options.ts'
import { findId, printTransaction, transactionArgument } from './transaction.ts'

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'Cancel a transaction that is not mined yet',
  description:
    'Cancel a transaction: at once if it was not sent yet, else by an empty one with its nonce, and then whichever is ' +
    'mined decides. A code that was used for it stays used.',
  examples: ['transactions cancel 7 --reason "wrong recipient"'],
  args: transactionArgument,
  options: { reason: text('--reason <text>', 'Why, for the audit log'), yes },
  run: async (ctx, { args, options }) => {
    ctx.needAdmin()
    const id = await findId(ctx, args.transaction)
    const reason = await ctx.prompts.text(options.reason, { flag: '--reason', message: 'Why' })
    await ctx.prompts.confirm(
      ctx.prompts.named(options.yes),
      `Cancel transaction ${id}? It will not be sent again.`,
    )
    const request = { params: { id }, body: { reason } }
    await printTransaction(ctx, await ctx.call('POST /admin/transactions/:id/cancel', request))
  },
})
