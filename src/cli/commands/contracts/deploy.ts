import { setTimeout as sleep } from 'node:timers/promises'
import { defineCommand } from '../../command/define.ts'
import { integerOrBare, team } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { hintAtTransaction, idempotencyFlag, sendOnce } from '../sending.ts'
import { describeState, nextStep } from '../transactions/transaction.ts'
import {
  type Contract,
  collectionFlags,
  contractFlags,
  fields,
  findContract,
  hintAtLink,
  printWarnings,
  readCollection,
  readContractFlags,
  readTwoTap,
  twoTapFlags,
} from './contract.ts'

/** Blocks come every few seconds; on the embedded chain, the first attempt suffices. */
const pollDelaysMs = [100, 400, 1000, 2000]
const defaultWaitSeconds = 600

export const deploy = defineCommand({
  name: 'deploy',
  summary: 'Deploy a token contract, whose address is known at once',
  examples: [
    'contracts deploy --symbol JKT --name Jackets --chain-id 31337 --wait',
    'contracts deploy --symbol CAP --name Caps --chain-id 8453 --royalty-percent 2.5 --royalty-to team.eth --image ipfs://…',
    'contracts deploy --symbol ART --name Art --chain-id 8453 --two-tap-delay 60 --two-tap-window 3600',
  ],
  options: {
    ...contractFlags,
    ...twoTapFlags,
    ...collectionFlags,
    wait: integerOrBare(
      '--wait [seconds]',
      `Wait until it is deployed, at most this long (default: ${defaultWaitSeconds})`,
      [1, 86_400],
      defaultWaitSeconds,
    ),
    ...idempotencyFlag,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const twoTap = readTwoTap(options)
    const contract = await readContractFlags(ctx, options)
    const made = await sendOnce(options.idempotencyKey, (idempotencyKey) =>
      ctx.call('POST /admin/contracts/deploy', {
        body: { ...contract, ...readCollection(options), twoTap, team: options.team },
        idempotencyKey,
      }),
    )
    const { wait } = options
    if (wait !== undefined) await waitUntilDeployed(ctx, made, wait)
    const shown =
      wait !== undefined ? { ...made, ...(await findContract(ctx, String(made.id), made.team)) } : made
    await ctx.io.one(shown, fields)
    printWarnings(ctx, made.warnings)
    if (wait !== undefined) hintAtLink(ctx, shown)
    else hintAtTransaction(ctx, made.transactionId ?? '')
  },
})

/** @throws CliError if it will never be deployed, or is not within this time */
const waitUntilDeployed = async (
  ctx: CliContext,
  { transactionId, symbol }: Contract,
  seconds: number,
): Promise<void> => {
  if (transactionId === null) return
  const until = performance.now() + seconds * 1000
  let lastPrinted: string | undefined
  for (let attempt = 0; ; attempt++) {
    const transaction = await ctx.call('GET /admin/transactions/:id', { params: { id: transactionId } })
    if (transaction.state === 'confirmed') return
    const description = describeState(transaction)
    if (transaction.settledAt !== null)
      throw new CliError(
        `${symbol} was not deployed: ${description}: ${transaction.reason ?? 'for an unknown reason'}`,
        {
          advice: `See tapchip transactions show ${transactionId}. The next start of the daemon tries again.`,
        },
      )
    // Only printed if it takes long.
    if (description !== lastPrinted && (transaction.waiting !== null || attempt >= pollDelaysMs.length)) {
      ctx.io.note(
        `${description}. ${transaction.waiting === null ? '' : (nextStep(transaction) ?? '')}`.trim(),
      )
      lastPrinted = description
    }
    const remainingMs = until - performance.now()
    if (remainingMs <= 0)
      throw new CliError(
        `${symbol} was not deployed within ${seconds} s: ${description}. It is still under way.`,
        {
          advice: `Follow it: tapchip transactions show ${transactionId}`,
        },
      )
    await sleep(Math.min(remainingMs, pollDelaysMs[Math.min(attempt, pollDelaysMs.length - 1)] ?? 0))
  }
}
