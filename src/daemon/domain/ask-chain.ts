import { BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError } from 'viem'
import { type Chain, ChainNotConfigured, type Chains } from '../chain/chains.ts'
import { isRefusal } from '../chain/owner-of.ts'
import { DomainError } from './errors.ts'

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
export async function asked<T>(chain: Pick<Chain, 'id'>, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof DomainError || isRefusal(cause)) throw cause
    throw outOfReach(chain.id, cause)
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
  if (!(error instanceof BaseError)) return undefined
  const revert = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  if (revert instanceof ContractFunctionRevertedError) {
    const { data, reason, signature } = revert
    if (data) return inWords(`${data.errorName}${data.args?.length ? `(${data.args.join(', ')})` : ''}`)
    return inWords(reason ?? signature ?? 'it reverts without a reason')
  }
  const empty = error.walk((cause) => cause instanceof ContractFunctionZeroDataError)
  if (empty instanceof ContractFunctionZeroDataError) return 'there is no such contract'
  return isRefusal(error) ? 'what it answers cannot be read' : undefined
}

const longest = 200

/** What somebody else's contract said, as it may be shown: no longer than a line, and nothing but text. */
export function inWords(text: string): string {
  const plain = text
    .slice(0, 4 * longest)
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, ' ')
    .trim()
  return plain.length > longest ? `${plain.slice(0, longest)}…` : plain
}
