import { waitingParts } from '../../../values/waiting-reason.ts'
import { defineCommand } from '../../command/define.ts'
import { argument, choice, flag, integer, team, text, yes } from '../../command/options.ts'
import { fetchPage, pageFlags } from '../paging.ts'
import {
  about,
  findId,
  nextStep,
  printTransaction,
  type Transaction,
  transactionArgument,
} from './transaction.ts'

const states = [
  'queued',
  'signed',
  'broadcast',
  'mined',
  'confirmed',
  'reverted',
  'cancelled',
] as const satisfies readonly Transaction['state'][]

const { MAX_SAFE_INTEGER: maxId } = Number

const list = defineCommand({
  name: 'list',
  summary: 'List transactions in all states, newest first',
  examples: [
    'transactions list',
    'transactions list --waiting',
    'transactions list --state reverted --chain-id 8453 --json',
  ],
  options: {
    chainId: integer('--chain-id <id>', 'Only this chain', [1, maxId]),
    state: choice('--state <state>', 'Only this state', states),
    kind: text('--kind <kind>', 'Only this kind: phygital-transfer, phygital-mint, …'),
    waiting: flag('--waiting', 'Only those that are waiting for something'),
    hash: text('--hash <hash>', 'Only the one with an attempt of this hash'),
    ...pageFlags('one'),
    team,
  },
  run: async (ctx, { options }) => {
    const { limit, ...filter } = options
    const query = { ...filter, waiting: options.waiting ? true : undefined }
    const { page, hintNextPage } = await fetchPage(ctx, limit, (limit) =>
      ctx.call('GET /admin/transactions', { query: { ...query, limit } }),
    )
    await ctx.io.list(
      page,
      {
        ID: (one) => one.id,
        STATE: (one) => one.state,
        WAITING: (one) => one.waiting,
        KIND: (one) => one.kind,
        ABOUT: about,
        CHAIN: (one) => one.chainId,
        HASH: (one) => one.minedHash ?? one.initialTxHash,
        RECORDED: (one) => one.createdAt,
        TEAM: (one) => one.team,
      },
      'No transactions.',
    )
    hintNextPage()
    // One hint per kind, however many transactions wait, and for whichever words of the node.
    const kinds = new Map(
      page.flatMap((one) => {
        const kind = one.waiting === null ? undefined : waitingParts(one.waiting).kind
        return kind === undefined ? [] : [[`${kind} on chain ${one.chainId}`, one]]
      }),
    )
    for (const [kind, one] of kinds) {
      const step = nextStep(one)
      if (step !== undefined) ctx.io.hint(`${kind}: ${step}`)
    }
  },
})

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
