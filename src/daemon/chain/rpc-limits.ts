import { plainText, retryAfterMs } from '../outbound/foreign-text.ts'
import type { Clock } from './relayer/sender.ts'
import { type RpcCall, type RpcError, type RpcOutcome, TooManyRequests } from './rpc-connection.ts'

/** A rate-limited node gets no requests before this time. */
export class RateLimited extends Error {
  override readonly name = 'RateLimited'
}

const retryBounds = { min: 250, max: 60_000 }
const firstRestMs = 1000
/** Used if the node does not say how long: a chain continues within ten seconds after its node is back. */
const maxRestMs = 8_000

/** Tracks how long a node is not asked after it reported too many requests. */
export class RetryPause {
  readonly #name: string
  readonly #clock: Clock
  #endsAt = Number.NEGATIVE_INFINITY
  #nextMs = firstRestMs
  #why = ''

  constructor(name: string, clock: Clock) {
    this.#name = name
    this.#clock = clock
  }

  /** Undefined if the node may be asked. */
  get leftMs(): number | undefined {
    const leftMs = this.#endsAt - this.#clock.monotonic()
    return leftMs > 0 ? leftMs : undefined
  }

  get error(): RateLimited {
    const seconds = Math.max(1, Math.ceil((this.leftMs ?? 0) / 1000))
    return new RateLimited(`${this.#name} limits requests (${this.#why}); again in ${seconds} s`)
  }

  begin(cause: TooManyRequests | RpcError): void {
    const isStatus = cause instanceof TooManyRequests
    const wantedMs = isStatus ? retryAfterMs(cause.retryAfter, this.#clock.now(), retryBounds) : undefined
    // Several concurrent requests are refused together.
    if (wantedMs === undefined && this.leftMs !== undefined) return
    const words = isStatus ? cause.error?.message : cause.message
    this.#why = [...(isStatus ? ['HTTP 429'] : []), ...(words === undefined ? [] : [plainText(words)])].join(
      ': ',
    )
    this.#endsAt = Math.max(this.#endsAt, this.#clock.monotonic() + (wantedMs ?? this.#nextMs))
    this.#nextMs = Math.min(maxRestMs, this.#nextMs * 2)
  }

  /** The node answers again. */
  end(): void {
    this.#nextMs = firstRestMs
  }
}

const rateLimitPattern =
  /rate.?limit|too many requests|requests? (count|limit|rate)|(requests|calls) per (second|minute|day)|compute units|over capacity|quota|throughput/i

/** Nodes also use -32005 for log queries with too many results. */
export const isRateLimit = ({ method }: RpcCall, error: RpcError): boolean =>
  !isRevert(error) &&
  (error.code === 429 ||
    rateLimitPattern.test(error.message) ||
    (error.code === -32005 && method !== 'eth_getLogs'))

/**
 * Finds the calls of a batch that may have been refused because of the batch: all of them, if all have the same
 * error.
 * @returns their indices
 */
export function refusedInBatch(calls: readonly RpcCall[], outcomes: readonly RpcOutcome[]): number[] {
  const [first] = outcomes
  const isOneError = outcomes.every(
    (outcome) => first && 'error' in first && !isRevert(first.error) && isSameError(outcome, first),
  )
  return outcomes.flatMap((outcome, index) => {
    const call = calls[index]
    if (!('error' in outcome) || call === undefined) return []
    const { error } = outcome
    const isAboutBatch = /\bbatch/i.test(error.message) && !isRevert(error)
    return isOneError || isAboutBatch || isRateLimit(call, error) ? [index] : []
  })
}

/** A revert of a contract, whose author chose the words: it says nothing about the node. */
export const isRevert = ({ code, message, data }: RpcError): boolean =>
  code === 3 || /revert/i.test(message) || (typeof data === 'string' && /^(reverted )?0x/i.test(data))

export function isSameError(one: RpcOutcome, other: RpcOutcome): boolean {
  if (!('error' in one) || !('error' in other)) return false
  return one.error.code === other.error.code && one.error.message === other.error.message
}
