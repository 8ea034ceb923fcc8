import { defineCommand } from '../../command/define.ts'
import { argument, text, yes } from '../../command/options.ts'
import { list } from './list.ts'
import { findId, printTransaction, transactionArgument } from './transaction.ts'

const show = defineCommand({
  name: 'show',
  summary: 'Show a transaction: where it is, what to do, and every attempt that was signed',
  examples: ['transactions show 7', 'transactions show 0x5b19…271b --json'],
  args: transactionArgument,
  run: async (ctx, { args }) => {
    const id = await findId(ctx, args.transaction)
    await printTransaction(ctx, await ctx.call('GET /admin/transactions/:id', { params: { id } }))
  },
})

const status = defineCommand({
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

const cancel = defineCommand({
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

export const verbs = [list, show, status, cancel]
