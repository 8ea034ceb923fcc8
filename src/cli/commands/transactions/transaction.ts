import { type WaitingReason, waitingParts } from '../../../values/waiting-reason.ts'
import type { AnswerOf, ElementOf } from '../../client/types.ts'
import { argument } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'

export type Transaction = ElementOf<'GET /admin/transactions'>

const states: Readonly<Record<Transaction['state'], string>> = {
  queued: 'recorded, not sent yet',
  signed: 'stored; it is not known whether a node has it',
  broadcast: 'a node has it',
  mined: 'in a block that is not deep enough yet',
  confirmed: 'done',
  reverted: 'mined without effect',
  cancelled: 'given up without effect',
}

/** Why a transaction is waiting, and what to do. */
export const waitingReasons: Readonly<
  Record<WaitingReason, { why: string; fix: (chainId: number) => string }>
> = {
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
    why: 'its gas cannot be estimated before earlier transactions are mined',
    fix: () => 'nothing: it continues automatically',
  },
  gas: {
    why: 'it needs more gas than it may use',
    fix: (chainId) =>
      `start the daemon with a higher TAPCHIP_MAX_GAS_${chainId}, or cancel it: tapchip transactions cancel`,
  },
  builder: {
    why: 'data that it needs could not be read from the chain',
    fix: () => 'nothing: it is tried again. If it persists: tapchip doctor',
  },
  signer: {
    why: 'the remote signer does not sign it',
    fix: (chainId) =>
      `check TAPCHIP_SIGNER_${chainId} and the signer behind it: tapchip doctor. It is asked again`,
  },
  node: {
    why: 'the node does not take it',
    fix: () => 'nothing: it is sent again. If it persists: tapchip doctor',
  },
  block: {
    why: 'a node has it, and no block contains it',
    fix: () =>
      'nothing: it is sent again, with higher fees. If it persists, try another RPC URL: tapchip doctor',
  },
}

const explained = (waiting: string): string => {
  const { kind, detail } = waitingParts(waiting)
  const why = kind === undefined ? waiting : waitingReasons[kind].why
  if (detail === undefined || kind === undefined) return why
  // The cap may leave room for what the node asks for.
  return `${kind === 'fees' ? 'the node asks for a higher fee' : why} (${detail})`
}

/** Example: `signed; waiting: the relayer cannot pay for it`. */
export const describeState = ({ state, waiting, cancelling }: Transaction): string =>
  [
    `${state} (${states[state]})`,
    ...(waiting === null ? [] : [`waiting: ${explained(waiting)}`]),
    ...(cancelling === null ? [] : ['being cancelled: whichever of its attempts is mined decides']),
  ].join('; ')

/** undefined if nothing needs to be done. */
export const nextStep = ({ id, state, waiting, chainId }: Transaction): string | undefined => {
  const kind = waiting === null ? undefined : waitingParts(waiting).kind
  if (kind !== undefined) return `To do: ${waitingReasons[kind].fix(chainId)}`
  if (state === 'reverted') return 'The contract refused it: nothing was changed, and it is not sent again.'
  if (state === 'signed' || state === 'broadcast')
    return `If it takes long, it is replaced automatically with higher fees. Cancel it: tapchip transactions cancel ${id}`
  return undefined
}

export const about = ({ subject }: Transaction): string | undefined => {
  const { contractAddress, tokenId, tokens, symbol, address, recipient, isPaused } = subject
  if (typeof tokenId === 'string') {
    const to = typeof recipient === 'string' ? ` to ${recipient}` : ''
    return `${String(contractAddress ?? '')} #${tokenId}${to}`.trim()
  }
  if (typeof contractAddress === 'string' && typeof isPaused === 'boolean')
    return `${contractAddress} ${isPaused ? 'paused' : 'unpaused'}`
  if (typeof contractAddress === 'string' && typeof tokens === 'number')
    return `${tokens} tokens of ${contractAddress}`
  const named = [symbol, address].filter((part) => typeof part === 'string')
  return named.length > 0 ? named.join(' ') : JSON.stringify(subject)
}

export const transactionArgument = {
  transaction: argument('id|hash', 'Its number, or the hash of any of its attempts'),
}

export const findId = async (ctx: CliContext, idOrHash: string): Promise<number> => {
  if (/^\d{1,15}$/.test(idOrHash)) return Number(idOrHash)
  if (!/^0x[0-9a-fA-F]{64}$/.test(idOrHash))
    throw new UsageError(
      `"${idOrHash}" is neither a number nor a hash.`,
      'List them: tapchip transactions list',
    )
  const [found] = await ctx.call('GET /admin/transactions', { query: { hash: idOrHash, limit: 1 } })
  if (found) return found.id
  throw new CliError(`No transaction here has the hash ${idOrHash}.`, {
    advice: 'List them: tapchip transactions list',
  })
}

type FullTransaction = AnswerOf<'GET /admin/transactions/:id'>

const gwei = (wei: string): string => `${Number(BigInt(wei) / 1_000_000n) / 1000} gwei`

const describeAttempt = ({
  hash,
  purpose,
  maxFeePerGas,
  sentAt,
  error,
}: FullTransaction['attempts'][number]): string =>
  [
    hash,
    ...(purpose === 'filler' ? ['empty, in its place'] : []),
    `up to ${gwei(maxFeePerGas)}`,
    sentAt === null ? 'no node has confirmed it' : `a node had it at ${sentAt}`,
    ...(error === null ? [] : [`last answer: ${error}`]),
  ].join(', ')

export const printTransaction = async (ctx: CliContext, transaction: FullTransaction): Promise<void> => {
  await ctx.io.one(transaction, (it) => ({
    Id: it.id,
    Kind: it.kind,
    'Sent by': it.groupId ?? undefined,
    About: about(it),
    State: describeState(it),
    Reason: it.reason ?? undefined,
    'Cancelled for': it.cancelling ?? undefined,
    Chain: it.chainId,
    Team: it.team,
    Relayer: it.relayer,
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
