import { waitingParts } from '../../../values/waiting-reason.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, flag, integer, team, text } from '../../command/options.ts'
import { fetchPage, pageFlags } from '../paging.ts'
import { about, nextStep, type Transaction } from './transaction.ts'

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

export const list = defineCommand({
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
