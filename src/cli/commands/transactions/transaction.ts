import type { AnswerOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'
import { about, nextStep, stateInWords } from './words.ts'

export const transactionArgument = {
  transaction: argument('id|hash', 'Its number, or the hash of any of its attempts'),
}

/** The number of the transaction that a person named. */
export const findId = async (ctx: CliContext, given: string): Promise<number> => {
  if (/^\d{1,15}$/.test(given)) return Number(given)
  if (!/^0x[0-9a-fA-F]{64}$/.test(given))
    throw new UsageError(`"${given}" is no number and no hash.`, 'Those there are: tapchip transactions list')
  const [found] = await ctx.call('GET /admin/transactions', { query: { hash: given, limit: 1 } })
  if (found) return found.id
  throw new CliError(`No transaction here has the hash ${given}.`, {
    advice: 'Those there are: tapchip transactions list',
  })
}

type Shown = AnswerOf<'GET /admin/transactions/:id'>

const gwei = (wei: string): string => `${Number(BigInt(wei) / 1_000_000n) / 1000} gwei`

const attemptInWords = ({ hash, purpose, maxFeePerGas, sentAt, error }: Shown['attempts'][number]): string =>
  [
    hash,
    ...(purpose === 'filler' ? ['empty, in its place'] : []),
    `up to ${gwei(maxFeePerGas)}`,
    sentAt === null ? 'no node has said that it has it' : `a node had it ${sentAt}`,
    ...(error === null ? [] : [`last answer: ${error}`]),
  ].join(', ')

export const printTransaction = async (ctx: CliContext, transaction: Shown): Promise<void> => {
  await ctx.io.one(transaction, (it) => ({
    Id: it.id,
    Kind: it.kind,
    About: about(it),
    State: stateInWords(it),
    Reason: it.reason ?? undefined,
    'Cancelled for': it.cancelling ?? undefined,
    Chain: it.chainId,
    Team: it.team,
    Sender: it.sender,
    Nonce: it.nonce,
    'First hash': it.initialTxHash,
    'Mined hash': it.minedHash ?? undefined,
    Block: it.blockNumber ?? undefined,
    Recorded: it.createdAt,
    Settled: it.settledAt,
    ...Object.fromEntries(it.attempts.map((attempt, i) => [`Attempt ${i + 1}`, attemptInWords(attempt)])),
  }))
  const step = nextStep(transaction)
  if (step !== undefined) ctx.io.hint(step)
}
