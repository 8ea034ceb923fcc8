import type { AnswerOf, ElementOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'

export type Transaction = ElementOf<'GET /admin/transactions'>
type Waiting = NonNullable<Transaction['waiting']>

const states: Readonly<Record<Transaction['state'], string>> = {
  queued: 'recorded, nothing has left yet',
  signed: 'stored; whether a node has it is not known',
  broadcast: 'a node has it',
  mined: 'in a block that is not deep enough yet',
  confirmed: 'done',
  reverted: 'mined without an effect',
  cancelled: 'given up without an effect',
}

/** Why a transaction is waiting, and what to do. */
export const waitingReasons: Readonly<Record<Waiting, { why: string; fix: (chainId: number) => string }>> = {
  fees: {
    why: 'the chain asks for more than the cap on fees',
    fix: (chainId) => `wait, or start the daemon with a higher TAPCHIP_MAX_FEE_GWEI_${chainId}`,
  },
  funds: {
    why: 'the relayer cannot pay for it',
    fix: (chainId) =>
      `send the relayer of chain ${chainId} some of its coin: tapchip doctor shows the address`,
  },
  'gas-estimate': {
    why: 'it cannot be estimated before what stands in front of it is mined',
    fix: () => 'nothing: it goes on by itself',
  },
  builder: {
    why: 'what it needs to know of the chain could not be read',
    fix: () => 'nothing: it is tried again. If it lasts: tapchip doctor',
  },
  node: {
    why: 'the node does not answer, or says nothing clear',
    fix: () => 'nothing: it is sent again. If it lasts: tapchip doctor',
  },
}

/** As in `signed; waiting: the relayer cannot pay for it`. */
export const describeState = ({ state, waiting, cancelling }: Transaction): string =>
  [
    `${state} (${states[state]})`,
    ...(waiting === null ? [] : [`waiting: ${waitingReasons[waiting].why}`]),
    ...(cancelling === null ? [] : ['being cancelled: whichever of its attempts is mined decides']),
  ].join('; ')

/** undefined if nothing needs to be done. */
export const nextStep = ({ id, state, waiting, chainId }: Transaction): string | undefined => {
  if (waiting !== null) return `To do: ${waitingReasons[waiting].fix(chainId)}`
  if (state === 'reverted') return 'The contract refused it: nothing was changed, and it is not sent again.'
  if (state === 'signed' || state === 'broadcast')
    return `It is replaced by itself with higher fees when it takes long. Give it up: tapchip transactions cancel ${id}`
  return undefined
}

export const about = ({ subject }: Transaction): string | undefined => {
  const { contractAddress, tokenId, symbol, address, recipient, isPaused } = subject
  if (typeof tokenId === 'string') {
    const to = typeof recipient === 'string' ? ` to ${recipient}` : ''
    return `${String(contractAddress ?? '')} #${tokenId}${to}`.trim()
  }
  if (typeof contractAddress === 'string' && typeof isPaused === 'boolean')
    return `${contractAddress} ${isPaused ? 'paused' : 'unpaused'}`
  const named = [symbol, address].filter((part) => typeof part === 'string')
  return named.length > 0 ? named.join(' ') : JSON.stringify(subject)
}

export const transactionArgument = {
  transaction: argument('id|hash', 'Its number, or the hash of any of its attempts'),
}

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

const describeAttempt = ({ hash, purpose, maxFeePerGas, sentAt, error }: Shown['attempts'][number]): string =>
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
    State: describeState(it),
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
    ...Object.fromEntries(it.attempts.map((attempt, i) => [`Attempt ${i + 1}`, describeAttempt(attempt)])),
  }))
  const step = nextStep(transaction)
  if (step !== undefined) ctx.io.hint(step)
}
