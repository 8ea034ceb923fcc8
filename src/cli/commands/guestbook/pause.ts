import { defineCommand } from '../../command/define.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { hintAtTransaction, idempotencyFlag, sendOnce } from '../sending.ts'
import { readContract } from './contract.ts'

const args = { contract: argument('contract', 'The contract: its id, its symbol or its address') }

const set = async (
  ctx: CliContext,
  named: string,
  { pauseState, key }: { pauseState: boolean; key: string | undefined },
): Promise<void> => {
  ctx.needApiKey()
  const contractId = await readContract(ctx, named)
  const sent = await sendOnce(key, (idempotencyKey) =>
    ctx.call('POST /events/toggle-pause-state', { body: { contractId, pauseState }, idempotencyKey }),
  )
  await ctx.io.one(sent, ({ txnHash }) => ({ Transaction: txnHash, Paused: pauseState }))
  hintAtTransaction(ctx, sent.txnHash)
}

export const pause = defineCommand({
  name: 'pause',
  summary: 'Stop transfers between the holders of a contract; minting continues',
  examples: ['guestbook pause GB', 'guestbook pause 3 --json'],
  args,
  options: idempotencyFlag,
  run: (ctx, { args: { contract }, options }) =>
    set(ctx, contract, { pauseState: true, key: options.idempotencyKey }),
})

export const unpause = defineCommand({
  name: 'unpause',
  summary: 'Allow transfers between the holders of a contract again',
  examples: ['guestbook unpause GB'],
  args,
  options: idempotencyFlag,
  run: (ctx, { args: { contract }, options }) =>
    set(ctx, contract, { pauseState: false, key: options.idempotencyKey }),
})
