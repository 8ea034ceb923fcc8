import { type Address, BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError } from 'viem'
import { type Chain, ChainNotConfigured, type Chains } from '../../chain/chains.ts'
import { hasCode, isRefusal, isUnreadable } from '../../chain/owner-of.ts'
import { revertOf } from '../../chain/revert.ts'
import { inWords } from '../../outbound/words.ts'
import { DomainError } from '../errors.ts'

const retryAfterSeconds = 5

/** @throws DomainError chain_not_configured */
export function chainOf(chains: Chains, chainId: number): Chain {
  try {
    return chains.get(chainId)
  } catch (cause) {
    if (!(cause instanceof ChainNotConfigured)) throw cause
    const forStrangers = `Chain ${chainId} is not set up here. Nothing was used up.`
    throw new DomainError('chain_not_configured', cause.message, { forStrangers, cause })
  }
}

/** Runs a read of a chain. @throws DomainError chain_unavailable where nobody answers; reverts pass through */
export async function readChain<T>(chain: Pick<Chain, 'id'>, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof DomainError || isRefusal(cause)) throw cause
    throw outOfReach(chain.id, cause)
  }
}

/**
 * The same of a contract, where what it says decides: an answer that cannot be read tells that there is no such
 * contract only where there is none. @throws DomainError chain_unavailable; reverts pass through
 */
export async function readContract<T>(
  chain: Pick<Chain, 'id' | 'client'>,
  address: Address,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await readChain(chain, read)
  } catch (cause) {
    if (!isUnreadable(cause) || !(await readChain(chain, () => hasCode(chain.client, address)))) throw cause
    throw new DomainError(
      'chain_unavailable',
      `Chain ${chain.id} gives no answer that can be read for the contract ${address}: its node does not work as it should, or the contract is of another kind. Nothing was used up and nothing was changed; try again.`,
      { retryAfterSeconds, cause },
    )
  }
}

export const outOfReach = (chainId: number, cause?: unknown): DomainError =>
  new DomainError(
    'chain_unavailable',
    `Chain ${chainId} does not answer. Nothing was used up and nothing was changed; try again.`,
    { retryAfterSeconds, cause },
  )

/** What a contract said against a call, in words; undefined where it is not the contract that failed. */
export function refusalOf(error: unknown): string | undefined {
  const said = revertOf(error)
  if (!(error instanceof BaseError)) return undefined
  const revert = said && error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  if (revert instanceof ContractFunctionRevertedError) {
    const { data, reason, signature } = revert
    if (data) return inWords(`${data.errorName}${data.args?.length ? `(${data.args.join(', ')})` : ''}`)
    return inWords(reason ?? signature ?? 'it reverts without a reason')
  }
  if (said) return said.reason
  const empty = error.walk((cause) => cause instanceof ContractFunctionZeroDataError)
  if (empty instanceof ContractFunctionZeroDataError) return 'there is no such contract'
  return isRefusal(error) ? 'what it answers cannot be read' : undefined
}

interface Kept {
  at: number
  answer: Promise<unknown>
}
const kept = new WeakMap<Chain, Map<string, Kept>>()
// Contracts that are asked about are the teams' own: no stranger makes this grow.
const most = 1000

/** Asks a chain something that hardly ever changes, unless that was asked a moment ago. A failure is not kept. */
export async function ttlCached<T>(
  chain: Chain,
  what: string,
  forMs: number,
  ask: () => Promise<T>,
): Promise<T> {
  const ofChain = kept.get(chain) ?? new Map<string, Kept>()
  kept.set(chain, ofChain)
  const before = ofChain.get(what)
  // Only ever set below, by an `ask` of the same name.
  if (before && performance.now() - before.at < forMs) return before.answer as Promise<T>
  if (ofChain.size >= most) ofChain.clear()
  const answer = ask()
  ofChain.set(what, { at: performance.now(), answer })
  answer.catch(() => ofChain.delete(what))
  return answer
}
