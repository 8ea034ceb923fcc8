import type { Chains } from '../chain/chains.ts'
import { SignerProblem } from '../chain/keys/transaction-signer.ts'
import { DomainError } from '../domain/errors/errors.ts'

export interface PendingChains extends Chains {
  /** @throws KeyProblem, WrongChain, and other failures to open them */
  readonly opened: Promise<void>
}

const elsewhere = (chainId: number): DomainError =>
  new DomainError(
    'chain_unavailable',
    `Chain ${chainId} is served by another daemon on the same database, and not by this one. Nothing was used up and nothing was changed; try again.`,
    { retryAfterSeconds: 5 },
  )

const withoutKeys = (chainId: number, cause: SignerProblem): DomainError =>
  new DomainError(
    'chain_unavailable',
    `Chain ${chainId} is not served yet: ${cause.message}. Nothing was used up and nothing was changed; try again.`,
    {
      retryAfterSeconds: 5,
      forStrangers: `Chain ${chainId} is not served yet. Nothing was used up; try again.`,
      cause,
    },
  )

/**
 * Stands in for the chains until they are open: a dev chain takes a tenth of a second to start, which the process
 * would mostly spend waiting. Callers that need a chain before then are asked to retry, like those that need a chain
 * of another daemon.
 */
export function pendingChains(
  opening: Promise<Chains>,
  isElsewhere: (chainId: number) => boolean,
): PendingChains {
  let chains: Chains | undefined
  const opened = opening.then((all) => {
    chains = all
  })
  // Prevents an unhandled rejection while no one is waiting yet.
  opened.catch(() => undefined)
  const open = (): Chains => {
    if (chains) return chains
    throw new DomainError(
      'chain_unavailable',
      'The daemon is starting, and its chains are not ready yet. Try again soon.',
      {
        retryAfterSeconds: 1,
      },
    )
  }
  return {
    opened,
    get all() {
      return open().all
    },
    get relayer() {
      return open().relayer
    },
    get embedded() {
      return open().embedded
    },
    get rpcUrls() {
      return open().rpcUrls
    },
    get: (chainId) => {
      if (!open().has(chainId) && isElsewhere(chainId)) throw elsewhere(chainId)
      try {
        return open().get(chainId)
      } catch (error) {
        throw error instanceof SignerProblem ? withoutKeys(chainId, error) : error
      }
    },
    late: () => open().late(),
    onServed: (listener) => open().onServed(listener),
    has: (chainId) => open().has(chainId),
    close: async () => {
      await opened.catch(() => undefined)
      await chains?.close()
    },
  }
}
