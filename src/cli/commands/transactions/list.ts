import { defineCommand } from '../../command/define.ts'
import { choice, flag, integer, team, text } from '../../command/options.ts'
import { fetchPage, pageFlags } from '../pages.ts'
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

const { MAX_SAFE_INTEGER: most } = Number

export const list = defineCommand({
  name: 'list',
  summary: 'List what was, is and will be sent to chains, newest first',
  examples: [
    'transactions list',
    'transactions list --waiting',
    'transactions list --state reverted --chain-id 8453 --json',
  ],
  options: {
    chainId: integer('--chain-id <id>', 'Of one chain', [1, most]),
    state: choice('--state <state>', 'In one state', states),
    kind: text('--kind <kind>', 'Of one kind: phygital-transfer, phygital-mint, …'),
    waiting: flag('--waiting', 'Those alone that something keeps from going on'),
    hash: text('--hash <hash>', 'The one that an attempt with this hash belongs to'),
    ...pageFlags('one'),
    team,
  },
  run: async (ctx, { options }) => {
    const { limit, ...filter } = options
    const query = { ...filter, waiting: options.waiting ? true : undefined }
    const { page, hintAtMore } = await fetchPage(ctx, limit, (limit) =>
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
    hintAtMore()
    // One hint per reason, however many transactions wait for it.
    const reasons = new Map(
      page.flatMap((one) => (one.waiting === null ? [] : [[`${one.waiting} ${one.chainId}`, one]])),
    )
    for (const one of reasons.values()) {
      const step = nextStep(one)
      if (step !== undefined) ctx.io.hint(`${one.waiting} on chain ${one.chainId}: ${step}`)
    }
  },
})
