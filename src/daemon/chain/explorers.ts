import type { Chain } from 'viem'
import * as chains from 'viem/chains'

const known: readonly Chain[] = [
  ...[chains.mainnet, chains.sepolia, chains.holesky, chains.base, chains.baseSepolia, chains.optimism],
  ...[chains.optimismSepolia, chains.arbitrum, chains.arbitrumSepolia, chains.arbitrumNova, chains.polygon],
  ...[chains.polygonAmoy, chains.gnosis, chains.gnosisChiado, chains.zora, chains.zoraSepolia, chains.linea],
  ...[chains.lineaSepolia, chains.scroll, chains.avalanche, chains.bsc, chains.celo, chains.blast],
  ...[chains.mantle, chains.zksync, chains.unichain, chains.worldchain, chains.berachain, chains.story],
]

interface TokenLocation {
  contractAddress: string
  chainId: number
  tokenId: string
}

/** Pages of block explorers, for people. A chain without one gives undefined. */
export class Explorers {
  readonly #own: Readonly<Record<string, string>>

  /** @param own of the configuration, by chain ID, without a trailing slash */
  constructor(own: Readonly<Record<string, string>>) {
    this.#own = own
  }

  chainName(chainId: number): string {
    return known.find(({ id }) => id === chainId)?.name ?? `Chain ${chainId}`
  }

  transaction(chainId: number, hash: string): string | undefined {
    return this.#at(chainId, `/tx/${hash}`)
  }

  token({ chainId, contractAddress, tokenId }: TokenLocation): string | undefined {
    return this.#at(chainId, `/token/${contractAddress}?a=${tokenId}`)
  }

  #at(chainId: number, path: string): string | undefined {
    const wellKnown = known.find(({ id }) => id === chainId)?.blockExplorers?.default.url
    const base = this.#own[chainId] ?? wellKnown
    return base === undefined ? undefined : `${base.replace(/\/+$/, '')}${path}`
  }
}
