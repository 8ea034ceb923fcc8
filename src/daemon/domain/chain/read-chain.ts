import { setTimeout as later } from 'node:timers/promises'
import { type Address, BaseError, ContractFunctionRevertedError, ContractFunctionZeroDataError } from 'viem'
import { getAddress } from 'viem/utils'
import { type Chain, ChainNotConfigured, type Chains } from '../../chain/chains.ts'
import { hasCode, isRefusal, isUnreadable, ownerOf } from '../../chain/contract-state.ts'
import { revertOf } from '../../chain/node-answer.ts'
import { plainText } from '../../outbound/foreign-text.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { DomainError } from '../errors/errors.ts'

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

/**
 * False for a chain that no daemon on the database has; then it is neither read nor written.
 * @throws DomainError chain_unavailable if only another daemon has it
 */
export function isServed(chains: Pick<Chains, 'has' | 'get'>, chainId: number): boolean {
  if (chains.has(chainId)) return true
  try {
    return chains.get(chainId) !== undefined
  } catch (error) {
    if (error instanceof ChainNotConfigured) return false
    throw error
  }
}

/** @returns undefined for a chain that is served */
export function unservedState(
  chains: Pick<Chains, 'has' | 'late'>,
  chainId: number,
): 'not served yet' | 'not configured here' | undefined {
  if (chains.has(chainId)) return undefined
  // Its remote signer has never told its keys.
  const isLate = chains.late().some((late) => late.chainId === chainId)
  return isLate ? 'not served yet' : 'not configured here'
}

/** @throws DomainError chain_unavailable if the chain does not answer; reverts pass through */
export async function readChain<T>(chain: Pick<Chain, 'id'>, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    if (cause instanceof DomainError || isRefusal(cause)) throw cause
    throw outOfReach(chain.id, cause)
  }
}

/**
 * An unreadable answer is final only if there is no code. @throws DomainError chain_unavailable; reverts pass
 * through
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
      `Chain ${chain.id} gives an unreadable answer for the contract ${address}: its node is faulty, or the contract is of another kind. Nothing was used up and nothing was changed; try again.`,
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

/** Why a contract rejected a call; undefined if the failure is not the contract's. */
export function refusalOf(error: unknown): string | undefined {
  const found = revertOf(error)
  if (!(error instanceof BaseError)) return undefined
  const revert = found && error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  if (revert instanceof ContractFunctionRevertedError) {
    const { data, reason, signature } = revert
    if (data) return plainText(`${data.errorName}${data.args?.length ? `(${data.args.join(', ')})` : ''}`)
    return plainText(reason ?? signature ?? 'it reverts without a reason')
  }
  if (found) return found.reason
  const empty = error.walk((cause) => cause instanceof ContractFunctionZeroDataError)
  if (empty instanceof ContractFunctionZeroDataError) return 'there is no such contract'
  return isRefusal(error) ? 'its answer cannot be read' : undefined
}

interface CacheEntry {
  at: number
  /** The chain was asked after this. */
  since: string
  answer: Promise<unknown>
}

/**
 * A TTL cache per chain for answers that rarely change; beyond `maxEntries`, the oldest are removed. Failures are not
 * cached. `since` (ISO 8601): answers that were asked for before are not used.
 */
export function ttlCache(maxEntries: number) {
  const caches = new WeakMap<Chain, Map<string, CacheEntry>>()
  return async <T>(
    chain: Chain,
    what: string,
    forMs: number,
    ask: () => Promise<T>,
    since = '',
  ): Promise<T> => {
    const ofChain = caches.get(chain) ?? new Map<string, CacheEntry>()
    caches.set(chain, ofChain)
    const before = ofChain.get(what)
    // Only `ask` sets values, each for its own key.
    if (before && before.since >= since && performance.now() - before.at < forMs)
      return before.answer as Promise<T>
    ofChain.delete(what)
    for (const oldest of ofChain.keys()) {
      if (ofChain.size >= maxEntries) ofChain.delete(oldest)
      break
    }
    const answer = ask()
    const latest = before && before.since > since ? before.since : since
    ofChain.set(what, { at: performance.now(), since: latest, answer })
    answer.catch(() => ofChain.delete(what))
    return answer
  }
}

// Only teams' own contracts are queried, so strangers cannot make this grow.
export const ttlCached = ttlCache(1000)

// A separate cache, since there are more tokens and owners than contracts.
export const ownersCached = ttlCache(2000)

/** Whoever knows of a claim asks anew for everyone. @param since see ttlCache */
export const cachedOwnerOf = (
  chain: Chain,
  { contractAddress, tokenId }: TokenLocation,
  { forMs, since }: { forMs: number; since?: string | undefined },
): Promise<Address | undefined> =>
  ownersCached(
    chain,
    `owner ${contractAddress}/${tokenId}`,
    forMs,
    () => ownerOf(chain.client, getAddress(contractAddress), BigInt(tokenId)),
    since,
  )

/** A token's owner on its chain. `note`: why the owner is unknown; without it, the token has no owner. */
export interface KnownOwner {
  owner: string | null
  note?: string
}

const timeoutMs = 3000

/** Lists must not wait for a silent chain. @returns the fallback also if the answer fails */
export async function withinTimeout<T, F>(answer: Promise<T>, fallback: F, ms = timeoutMs): Promise<T | F> {
  const stop = new AbortController()
  const timeout = later(ms, fallback, { signal: stop.signal }).catch(() => fallback)
  try {
    return await Promise.race([answer.catch(() => fallback), timeout])
  } finally {
    stop.abort()
  }
}

/** Never throws because of the chain. */
export async function ownerByChain(
  { chains }: { chains: Chains },
  { chainId, contractAddress, tokenId }: TokenLocation,
): Promise<KnownOwner> {
  const unserved = unservedState(chains, chainId)
  if (unserved !== undefined) return { owner: null, note: `chain ${chainId} is ${unserved}` }
  const { client } = chains.get(chainId)
  const answer = ownerOf(client, getAddress(contractAddress), BigInt(tokenId)).then(
    (owner): KnownOwner => ({ owner: owner ?? null }),
  )
  return withinTimeout(answer, { owner: null, note: `chain ${chainId} does not answer` })
}
