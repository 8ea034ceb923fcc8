import type { Address, Hex } from 'viem'
import { isGroup } from '../../store/chain/intents.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import type { Node } from './node.ts'

/** Gas of an empty call on most chains. Others, such as rollups, add the cost of data. */
export const plainGas = 21_000
/** Margin, because estimates differ between nodes. */
const isPlain = (empty: number): boolean => empty < plainGas * 1.05
const knownForMs = 600_000
const revertsForMs = 2_000
/** The number of contracts and functions whose estimates are cached. */
const maxKnown = 1_000

export interface GasCall {
  to: Address | null
  data: Hex
}

/** `reason`: the call would revert. */
export type GasEstimate = number | { reason: string }

/** For claims, which may call contracts of others; other calls are the daemon's own, or a group, with its own limit. */
export function withinLimit(
  { chain: { chainId, maxGas } }: { chain: { chainId: number; maxGas: number } },
  { builder }: Pick<TransactionRow, 'builder'>,
  gas: number,
): number | { tooMuch: string } {
  if (builder === null || isGroup(builder) || gas <= maxGas) return gas
  // The margin is optional.
  if (gas <= withMargin(maxGas)) return maxGas
  const needed = Math.floor((gas * 5) / 6)
  return {
    tooMuch: `it needs ${counted(needed)} gas, and TAPCHIP_MAX_GAS_${chainId} allows ${counted(maxGas)}`,
  }
}

const counted = (gas: number): string => gas.toLocaleString('en-US')

/** Estimates the gas of one key's calls with the node. */
export class Gas {
  readonly #node: Pick<Node, 'estimate'>
  readonly #from: Address
  readonly #monotonic: () => number
  /** By contract and function, because their calls cost about the same. Includes the call that was estimated. */
  readonly #known = new Map<string, { until: number; data: Hex; estimate: Promise<GasEstimate> }>()

  constructor(node: Pick<Node, 'estimate'>, from: Address, monotonic: () => number) {
    this.#node = node
    this.#from = from
    this.#monotonic = monotonic
  }

  /**
   * The gas limit for a call.
   * @param hint gas on chains where an empty call takes 21,000; null: unknown
   * @param maxGas the limit for guesses
   * @returns `reason` if the call reverts and there is no other estimate
   * @throws errors of the node, likewise
   */
  async limitOf(call: GasCall, hint: number | null, maxGas: number): Promise<GasEstimate> {
    if (hint === null) return this.limitNow(call)
    const noEstimate = (): GasEstimate => ({ reason: 'the node does not tell' })
    const [empty, shared] = await Promise.all([this.#empty(), this.#estimate(call).catch(noEstimate)])
    // Estimates can fall short too: of a call to a contract that is still to be deployed, for example.
    const floor = isPlain(empty) ? hint : hint + 3 * (empty - plainGas)
    const isMore = typeof shared === 'number' && withMargin(shared) > floor
    // A recipient's contract may have used most of it.
    const estimate = isMore ? await this.#estimate(call, call.data).catch(noEstimate) : shared
    if (typeof estimate === 'number') return Math.max(floor, withMargin(estimate))
    return Math.max(floor, Math.min(Math.ceil((hint * empty) / plainGas), maxGas))
  }

  /** Call this after a call ran out of its estimated gas. */
  forget({ to, data }: GasCall): void {
    this.#known.delete(keyOf({ to, data }))
  }

  /** Estimates this exact call. @throws errors of the node */
  async limitNow(call: GasCall): Promise<GasEstimate> {
    const estimate = await this.#ask(call)
    return typeof estimate === 'number' ? withMargin(estimate) : estimate
  }

  /** The gas limit of a transaction that only uses up a nonce. */
  async limitOfFiller(): Promise<number> {
    const empty = await this.#empty()
    return isPlain(empty) ? plainGas : withMargin(empty)
  }

  /** An empty call takes 21,000; if it needs much more, the called contract is the cause. */
  async isPlain(): Promise<boolean> {
    return isPlain(await this.#empty())
  }

  async #empty(): Promise<number> {
    const estimate = await this.#estimate({ to: this.#from, data: '0x' }).catch(() => plainGas)
    return typeof estimate === 'number' ? Math.max(estimate, plainGas) : plainGas
  }

  /** @param data absent: any call of the same function */
  #estimate(call: GasCall, data?: Hex): Promise<GasEstimate> {
    const key = keyOf(call)
    const now = this.#monotonic()
    const known = this.#known.get(key)
    if (known && now < known.until && (data === undefined || known.data === data)) return known.estimate
    const entry = { until: now + knownForMs, data: call.data, estimate: this.#ask(call) }
    this.#known.delete(key)
    this.#known.set(key, entry)
    const [oldest] = this.#known.keys()
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest)
    entry.estimate.then(
      (estimate) => {
        // It may depend on pending transactions.
        if (typeof estimate !== 'number') entry.until = now + revertsForMs
      },
      () => {
        entry.until = now
      },
    )
    return entry.estimate
  }

  async #ask(call: GasCall): Promise<GasEstimate> {
    const gas = await this.#node.estimate({ from: this.#from, ...call })
    return typeof gas === 'bigint' ? Number(gas) : gas
  }
}

const keyOf = ({ to, data }: GasCall): string =>
  to === null ? `create ${data.length}` : `${to} ${data.slice(0, 10)}`

/** A fifth more, because earlier transactions can increase the cost. */
export const withMargin = (gas: number): number => Math.ceil((gas * 6) / 5)
