import type { ElementOf } from '../../client/types.ts'

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

/** What keeps it, and what to do. */
export const waitingWords: Readonly<Record<Waiting, { why: string; fix: (chainId: number) => string }>> = {
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

/** A state as a person reads it: `signed; waiting: the relayer cannot pay for it`. */
export const stateInWords = ({ state, waiting, cancelling }: Transaction): string =>
  [
    `${state} (${states[state]})`,
    ...(waiting === null ? [] : [`waiting: ${waitingWords[waiting].why}`]),
    ...(cancelling === null ? [] : ['being cancelled: whichever of its attempts is mined decides']),
  ].join('; ')

/** What to do about it; undefined where nothing is to be done. */
export const nextStep = ({ id, state, waiting, chainId }: Transaction): string | undefined => {
  if (waiting !== null) return `To do: ${waitingWords[waiting].fix(chainId)}`
  if (state === 'reverted') return 'The contract refused it: nothing was changed, and it is not sent again.'
  if (state === 'signed' || state === 'broadcast')
    return `It is replaced by itself with higher fees when it takes long. Give it up: tapchip transactions cancel ${id}`
  return undefined
}

/** What it is about, in one cell. */
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
