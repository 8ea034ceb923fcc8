import { hexToBigInt } from 'viem'
import type { ChainClient } from '../chain-client.ts'
import { isUnusable, messageOf, nodeAnswer } from '../node-answer.ts'

/** In wei per gas (EIP-1559). */
export interface Fees {
  maxFeePerGas: bigint
  maxPriorityFeePerGas: bigint
}

export interface Market {
  /** undefined: the chain has no EIP-1559. Then `tip` is the whole price. */
  baseFee: bigint | undefined
  /** The block producer's share. */
  tip: bigint
  maxTip: bigint
  cap: bigint
}

export const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)

/**
 * Twice the base fee keeps a transaction minable for six full blocks, each of which may raise it by an eighth.
 * @returns undefined while the chain's fees exceed the caps
 */
export function firstFees({ baseFee = 0n, tip, maxTip, cap }: Market): Fees | undefined {
  if (baseFee + tip > cap || tip > maxTip) return undefined
  return { maxFeePerGas: smaller(2n * baseFee + tip, cap), maxPriorityFeePerGas: tip }
}

// geth requires +10 % on BOTH fees for a replacement (core/txpool/legacypool, PriceBump), other nodes 12.5 %
// (Erigon; Nethermind's default is 10). Always at least 1 wei more, even if an eighth rounds to nothing.
const raise = (fee: bigint): bigint => larger((fee * 1125n + 999n) / 1000n, fee + 1n)

/**
 * Fees for replacing an attempt.
 * @returns undefined if they would exceed the cap, or could not be mined anyway: each replacement raises the
 * tip for good, so it has to be worth it
 */
export function replacementFees(previous: Fees, market: Market): Fees | undefined {
  const min = { fee: raise(previous.maxFeePerGas), tip: raise(previous.maxPriorityFeePerGas) }
  const now = firstFees(market)
  if (!now || min.fee > market.cap || min.tip > market.maxTip) return undefined
  const tip = larger(min.tip, now.maxPriorityFeePerGas)
  const fee = larger(min.fee, now.maxFeePerGas)
  return { maxFeePerGas: larger(fee, tip), maxPriorityFeePerGas: tip }
}

const gwei = 1_000_000_000n
/** The number of recent blocks whose tips show what others pay. */
const sampled = 20
/** A method that the node lacks is not called again for this long. */
const missingForMs = 600_000
/** After this time, a lower tip is tried again. The first value is for a minimum that the node named itself. */
const learnedForMs = { named: 3_600_000, guessed: 600_000 }
/** In wei per gas; public chains whose nodes do not name their minimum accept less than this. */
const maxGuess = 50n * gwei

interface FeeMarketSettings {
  /** In wei per gas. Absent: as the chain suggests. */
  tip?: bigint | undefined
  minTip?: bigint | undefined
  maxTip?: bigint | undefined
}

/** A block's fees; without a base fee, the chain has no EIP-1559. */
interface Head {
  hash: string
  baseFee: bigint | undefined
}

/** Estimates the fees of a chain. The relayer and dry runs share one instance. */
export class FeeMarket {
  readonly #client: Pick<ChainClient, 'request'>
  readonly #settings: FeeMarketSettings
  readonly #monotonic: () => number
  #learned: { tip: bigint; until: number } | undefined
  #latestSuggestion = 0n
  #suggested: { hash: string; tip: Promise<bigint> } | undefined
  /** By method: when the node said that it lacks it. */
  readonly #missing = new Map<string, number>()
  /** Why the node did not answer, in its own words. */
  #words = ''

  constructor(
    client: Pick<ChainClient, 'request'>,
    settings: FeeMarketSettings,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#client = client
    this.#settings = settings
    this.#monotonic = monotonic
  }

  /** @throws errors of the node and the connection */
  async at(head: Head, cap: bigint): Promise<Market> {
    const suggested = await this.#suggestion(head)
    this.#latestSuggestion = suggested
    const { minTip = 0n, maxTip } = this.#settings
    const floor = larger(minTip, this.#lowestTaken())
    // The price of a legacy transaction includes the part that corresponds to the base fee.
    const ceiling = maxTip !== undefined && head.baseFee !== undefined ? maxTip : cap
    return { baseFee: head.baseFee, tip: larger(smaller(suggested, ceiling), floor), maxTip: ceiling, cap }
  }

  /**
   * Learns a node's minimum tip from a refused one, both in wei per gas. If the node does not name it, it is found in
   * steps, so that at most twice the minimum is paid. The steps are limited, because nodes give the same error when
   * their pool is full.
   */
  onRefused(tip: bigint, named: bigint | undefined): void {
    const isNamed = named !== undefined && named > tip
    const bound = larger(maxGuess, 2n * this.#latestSuggestion)
    const needed = isNamed ? named : smaller((tip * 3n) / 2n + 1n, bound)
    if (needed <= this.#lowestTaken()) return
    this.#learned = {
      tip: needed,
      until: this.#monotonic() + learnedForMs[isNamed ? 'named' : 'guessed'],
    }
  }

  #lowestTaken(): bigint {
    return this.#learned && this.#monotonic() < this.#learned.until ? this.#learned.tip : 0n
  }

  /** Computed once per block. */
  #suggestion(head: Head): Promise<bigint> {
    if (this.#settings.tip !== undefined) return Promise.resolve(this.#settings.tip)
    if (this.#suggested?.hash === head.hash) return this.#suggested.tip
    const tip = this.#ask(head)
    this.#suggested = { hash: head.hash, tip }
    tip.catch(() => {
      if (this.#suggested?.tip === tip) this.#suggested = undefined
    })
    return tip
  }

  async #ask({ baseFee }: Head): Promise<bigint> {
    if (baseFee === undefined) return hexToBigInt(await this.#client.request({ method: 'eth_gasPrice' }))
    const suggested = await this.#quantity('eth_maxPriorityFeePerGas')
    // Then most of the price is the base fee, or gas is almost free.
    if (suggested !== undefined && suggested <= larger(baseFee, 2n * gwei)) return suggested
    const { median, highest } = await this.#paidTips()
    if (suggested !== undefined) return smaller(suggested, highest ?? larger(baseFee, gwei))
    if (median !== undefined) return median
    const price = await this.#quantity('eth_gasPrice')
    if (price === undefined) {
      // The node may lack all of them only temporarily.
      this.#missing.clear()
      throw new Error(`the node gives no tip, no fee history, and no gas price (${this.#words})`)
    }
    return price > baseFee ? price - baseFee : 0n
  }

  /**
   * Returns the tips of recent blocks that had transactions; undefined if there were none, or the node does not know.
   */
  async #paidTips(): Promise<{ median?: bigint | undefined; highest?: bigint | undefined }> {
    const history = await this.#optional('eth_feeHistory', () =>
      this.#client.request({
        method: 'eth_feeHistory',
        params: [`0x${sampled.toString(16)}`, 'latest', [50]],
      }),
    )
    const tips = (history?.reward ?? [])
      .filter((_, block) => (history?.gasUsedRatio[block] ?? 0) > 0)
      .flatMap((percentiles) => percentiles.slice(0, 1))
      .map((tip) => hexToBigInt(tip))
      .sort((one, other) => (one < other ? -1 : 1))
    return { median: tips[Math.floor(tips.length / 2)], highest: tips.at(-1) }
  }

  async #quantity(method: 'eth_maxPriorityFeePerGas' | 'eth_gasPrice'): Promise<bigint | undefined> {
    const quantity = await this.#optional(method, () => this.#client.request({ method }))
    return quantity === undefined ? undefined : hexToBigInt(quantity)
  }

  async #optional<T>(method: string, ask: () => Promise<T>): Promise<T | undefined> {
    const since = this.#missing.get(method)
    if (since !== undefined && this.#monotonic() - since < missingForMs) return undefined
    try {
      return await ask()
    } catch (error) {
      if (!nodeAnswer(error) && !isUnusable(error)) throw error
      this.#words = messageOf(error)
      this.#missing.set(method, this.#monotonic())
      return undefined
    }
  }
}
