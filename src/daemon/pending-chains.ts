import type { Chains } from './chain/chains.ts'
import { DomainError } from './domain/errors.ts'

/** Chains that are being opened while the rest of the daemon is built. */
export interface PendingChains extends Chains {
  /** @throws KeyProblem, WrongChain, and what else opening them runs into */
  readonly opened: Promise<void>
}

/**
 * Stands for chains from before they are open: a dev chain takes a tenth of a second to start, most of which this
 * process would only wait. Whoever needs a chain in that time is asked to come back.
 */
export function pendingChains(opening: Promise<Chains>): PendingChains {
  let chains: Chains | undefined
  const opened = opening.then((all) => {
    chains = all
  })
  // Whoever waits for it hears of a failure; nobody may be waiting yet.
  opened.catch(() => undefined)
  const open = (): Chains => {
    if (chains) return chains
    throw new DomainError('chain_unavailable', 'The daemon is starting, and its chains are not open yet.', {
      retryAfterSeconds: 1,
    })
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
    get: (chainId) => open().get(chainId),
    has: (chainId) => open().has(chainId),
    close: async () => {
      await opened.catch(() => undefined)
      await chains?.close()
    },
  }
}
