import type { Clock } from './relayer/sender.ts'
import type { RpcCall, RpcOutcome } from './rpc-connection.ts'
import type { RpcEndpoint } from './rpc-endpoint.ts'

const checkedEveryMs = 5000
/** Nodes learn of a block at different times. */
const toleratedLag = { blocks: 3, ms: 1000 }
const laggingAfterMs = 10_000

interface HeadState {
  head: number
  behind: number
  /** Monotonic; undefined: it is up to date. */
  laggingSince: number | undefined
}

/** The latest blocks of a chain's URLs, and which of them lag behind the others. */
export class Heads {
  readonly #endpoints: readonly RpcEndpoint[]
  readonly #clock: Clock
  readonly #seen = new Map<RpcEndpoint, HeadState>()
  #best = 0
  #checkedAt = Number.NEGATIVE_INFINITY
  #check: Promise<void> | undefined
  /** For the block rate. */
  #earlier: { head: number; at: number } | undefined

  constructor(endpoints: readonly RpcEndpoint[], clock: Clock) {
    this.#endpoints = endpoints
    this.#clock = clock
  }

  of(endpoint: RpcEndpoint): { head: number | undefined; behind: number | undefined } {
    const seen = this.#seen.get(endpoint)
    return { head: seen?.head, behind: seen?.behind }
  }

  isLagging(endpoint: RpcEndpoint): boolean {
    const since = this.#seen.get(endpoint)?.laggingSince
    return since !== undefined && this.#clock.monotonic() - since >= laggingAfterMs
  }

  checkInBackground(): void {
    if (this.#clock.monotonic() - this.#checkedAt >= checkedEveryMs) void this.check()
  }

  check(): Promise<void> {
    this.#check ??= this.#compare().finally(() => {
      this.#check = undefined
    })
    return this.#check
  }

  async #compare(): Promise<void> {
    const startedAt = this.#clock.monotonic()
    this.#checkedAt = startedAt
    let answeredAt = startedAt
    const heads = new Map<RpcEndpoint, number>()
    const ask = async (endpoint: RpcEndpoint) => {
      try {
        const outcome = await endpoint.ask({ method: 'eth_blockNumber' })
        if (!('result' in outcome)) return
        heads.set(endpoint, Number(outcome.result))
        answeredAt = this.#clock.monotonic()
      } catch {
        // Its state already shows that.
      }
    }
    await Promise.all(this.#endpoints.filter(({ state }) => state !== 'limited').map(ask))
    if (heads.size === 0) return
    // Endpoints of another chain are filtered out before this.
    const best = Math.max(...heads.values())
    const late = this.#rateAt(best, answeredAt) * (toleratedLag.ms + answeredAt - startedAt)
    for (const [endpoint, head] of heads) {
      const behind = best - head
      const before = this.#seen.get(endpoint)?.laggingSince
      const laggingSince = behind > Math.max(toleratedLag.blocks, late) ? (before ?? startedAt) : undefined
      this.#seen.set(endpoint, { head, behind, laggingSince })
      if (before !== undefined && laggingSince === undefined) endpoint.wellSince = answeredAt
    }
    this.#best = Math.max(this.#best, best)
  }

  /** Blocks per millisecond, over about the last minute. */
  #rateAt(head: number, at: number): number {
    const { head: earlierHead, at: earlierAt } = this.#earlier ?? { head, at }
    if (this.#earlier === undefined || at - earlierAt > 60_000) this.#earlier = { head, at }
    return at > earlierAt ? Math.max(0, head - earlierHead) / (at - earlierAt) : 0
  }

  /** Learnt from calls that were made anyway. */
  learn(endpoint: RpcEndpoint, { method, params = [] }: RpcCall, outcome: RpcOutcome): void {
    if (!('result' in outcome)) return
    const isLatest = method === 'eth_getBlockByNumber' && params[0] === 'latest'
    if (method !== 'eth_blockNumber' && !isLatest) return
    const { result } = outcome
    const head = Number(isLatest ? Object(result).number : result)
    if (Number.isNaN(head)) return
    this.#best = Math.max(this.#best, head)
    this.#seen.set(endpoint, { behind: 0, laggingSince: undefined, ...this.#seen.get(endpoint), head })
  }

  /** The head that some node has reached: a node without it lags. */
  isKnown({ method, params = [] }: RpcCall): boolean {
    const block = method === 'eth_getBlockByNumber' ? params[0] : params[1]
    const isNumber = typeof block === 'string' && /^0x[0-9a-f]{1,12}$/.test(block)
    return isNumber && Number(block) <= this.#best
  }
}
