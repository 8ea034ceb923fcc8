import type { Schedule } from '../../values/background-loop.ts'
import { OutboundFailed } from '../outbound/errors.ts'
import { BatchLimit } from './batch-limit.ts'
import type { Clock } from './relayer/sender.ts'
import {
  MalformedAnswer,
  type RpcCall,
  type RpcConnection,
  type RpcError,
  type RpcOutcome,
  TooManyRequests,
} from './rpc-connection.ts'
import { isRateLimit, isSameError, RateLimited, RetryPause, refusedInBatch } from './rpc-limits.ts'
import {
  type Answer,
  ChainCheck,
  type EndpointSettings,
  type QueuedCall,
  settleAll,
  settleWith,
} from './rpc-queue.ts'

const maxRequests = 16
/** For rate limits per second. */
const maxWaitMs = 4000

/**
 * One RPC URL of a chain. Calls of one turn of the event loop are sent together, because a round trip costs more than
 * a call, and in smaller batches where the node refuses large ones. Repeats only calls that were rate-limited for a
 * second or lost to a temporary fault; the caller decides what a missing answer means.
 */
export class RpcEndpoint {
  readonly name: string
  /** The full URL, including secrets. */
  readonly url: string
  readonly batches = new BatchLimit()
  /** The methods that the node does not have. */
  readonly missing = new Set<string>()
  readonly #connection: RpcConnection
  readonly #clock: Clock
  readonly #chain: ChainCheck
  readonly #patienceMs: number
  readonly #schedule: Schedule
  readonly #rest: RetryPause
  readonly #queue: QueuedCall[] = []
  #requests = 0
  #isTimed = false
  #maxRequests = maxRequests
  /** The latest answer was to a single call, after larger batches had failed. */
  #answersAlone = false
  #isRecovering = false
  #failure: Error | undefined
  /** Monotonic; infinite while the endpoint is failing. */
  wellSince = Number.NEGATIVE_INFINITY
  failedAt = Number.NEGATIVE_INFINITY

  constructor({ name, connection, clock, chainId, patienceMs, schedule }: EndpointSettings) {
    this.name = name
    this.url = connection.url
    this.#connection = connection
    this.#clock = clock
    this.#chain = new ChainCheck(name, chainId)
    this.#patienceMs = patienceMs
    this.#schedule = schedule
    this.#rest = new RetryPause(name, clock)
  }

  get state(): 'ok' | 'failing' | 'limited' | 'other-chain' {
    if (this.#chain.otherChain !== undefined) return 'other-chain'
    if (this.#rest.leftMs !== undefined) return 'limited'
    return this.#failure === undefined ? 'ok' : 'failing'
  }

  /** Why it is not asked, or why its last answer was unusable. */
  get trouble(): Error | undefined {
    return this.state === 'limited' ? this.#rest.error : this.#failure
  }

  /** In milliseconds since 1970. */
  get limitedUntil(): number | undefined {
    const { leftMs } = this.#rest
    return leftMs && this.#clock.now() + leftMs
  }

  /** @throws RateLimited, MalformedAnswer, OutboundFailed without a complete answer, and for another chain */
  async ask(call: RpcCall): Promise<RpcOutcome> {
    const outcome = await new Promise<RpcOutcome>((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.#pump())
      this.#queue.push({ call, since: this.#clock.monotonic(), resolve, reject })
    })
    // Another node may answer there by now.
    const trouble = call.method === 'eth_chainId' && this.#chain.isDone && this.#chain.judge(outcome)
    if (trouble) this.#failed(trouble)
    return outcome
  }

  #pump(): void {
    const { leftMs } = this.#rest
    if (leftMs !== undefined) this.#wait(leftMs)
    while (leftMs === undefined && this.#queue.length > 0 && this.#requests < this.#maxRequests) {
      const isVerified = this.#chain.isDone
      // Only the question for the chain id is sent at first.
      if (!isVerified && this.#requests > 0) return
      this.#requests += 1
      const done = isVerified ? this.#send(this.#queue.splice(0, this.batches.size)) : this.#verify()
      void done.finally(() => {
        this.#requests -= 1
        this.#pump()
      })
    }
  }

  /** Many nodes limit requests per second. */
  #wait(leftMs: number): void {
    if (leftMs > this.#patienceMs) this.#rejectAll(this.#queue.splice(0), this.#rest.error)
    if (this.#isTimed || this.#queue.length === 0) return
    this.#isTimed = true
    this.#schedule(() => {
      this.#isTimed = false
      this.#pump()
    }, leftMs)
  }

  async #verify(): Promise<void> {
    const answer = await this.#askAlone({ method: 'eth_chainId' })
    const waiting = this.#queue.splice(0)
    if ('failure' in answer) return this.#rejectAll(waiting, answer.failure)
    const trouble = this.#chain.judge(answer)
    if (trouble === undefined) this.#queue.unshift(...waiting)
    else {
      // eth_chainId is answered even by a URL of another chain.
      const isAnswered = ({ call }: QueuedCall) => call.method === 'eth_chainId' && this.#chain.otherChain
      for (const one of waiting.filter(isAnswered)) one.resolve(answer)
      const others = waiting.filter((one) => !isAnswered(one))
      this.#rejectAll(others, this.#failed(trouble).failure)
    }
  }

  async #send(waiting: readonly QueuedCall[]): Promise<void> {
    const [first, ...others] = waiting
    if (first === undefined || (others.length > 0 && !this.#isRecovering)) return this.#sendTogether(waiting)
    // A single call finds out whether a rate-limited or silent node is back.
    const answer = await this.#sendAlone(first)
    if ('failure' in answer) this.#rejectAll(waiting, answer.failure)
    else this.#queue.unshift(...others)
  }

  async #sendTogether(waiting: readonly QueuedCall[]): Promise<void> {
    const calls = waiting.map(({ call }) => call)
    let outcomes: RpcOutcome[] = []
    try {
      outcomes = await this.#connection.batch(calls)
    } catch (error) {
      if (error instanceof OutboundFailed && error.kind === 'timeout') this.#onSilence()
      if (!this.#mayBeRefusal(error, waiting.length))
        return this.#rejectAll(waiting, this.#failed(error).failure)
    }
    const refused = outcomes.length === 0 ? [...waiting.keys()] : refusedInBatch(calls, outcomes)
    settleAll(waiting, outcomes, (index) => !refused.includes(index))
    const [at, ...rest] = refused
    const first = at === undefined ? undefined : waiting[at]
    if (first === undefined || at === undefined) return this.#worked(waiting.length)
    // If the single call succeeds, the batch was the problem, not the node.
    const answeredSingleCalls = this.#answersAlone
    const alone = await this.#sendAlone(first)
    const others = rest.flatMap((index) => waiting[index] ?? [])
    if ('failure' in alone) {
      // The node may limit calls per second, and has answered one just now.
      if (answeredSingleCalls && alone.failure instanceof RateLimited)
        this.batches.onRefused(waiting.length, this.#clock.monotonic())
      return this.#rejectAll([first, ...others], alone.failure)
    }
    const together = outcomes[at]
    if (together && isSameError(together, alone)) {
      settleAll(waiting, outcomes, (index) => rest.includes(index))
      return this.#worked(waiting.length)
    }
    this.batches.onRefused(waiting.length, this.#clock.monotonic())
    this.#maxRequests = 1
    this.#queue.unshift(...others)
  }

  /** For a batch. If single calls work, each attempt at smaller batches would cost a time limit. */
  #onSilence(): void {
    if (this.#answersAlone) this.batches.onRefused(2, this.#clock.monotonic())
    this.#isRecovering = true
  }

  /** True if a batch may have failed because of its size. */
  #mayBeRefusal(error: unknown, count: number): boolean {
    if (error instanceof TooManyRequests)
      return error.retryAfter === undefined || this.#answersAlone || this.batches.isTrial(count)
    if (error instanceof OutboundFailed) return error.kind !== 'timeout' && error.sent
    return error instanceof MalformedAnswer
  }

  /** The caller rejects what has no answer. */
  async #sendAlone(waiting: QueuedCall): Promise<Answer> {
    const answer = await this.#askAlone(waiting.call)
    if ('failure' in answer) return answer
    this.#answersAlone = true
    settleWith(waiting, answer)
    return answer
  }

  async #askAlone(call: RpcCall): Promise<Answer> {
    try {
      const outcome = await this.#connection.retry(call, this.#patienceMs > 0)
      if ('error' in outcome && isRateLimit(call, outcome.error)) return this.#limited(outcome.error)
      this.#worked(1)
      return outcome
    } catch (error) {
      return this.#failed(error)
    }
  }

  /** @param count of the calls that were answered together */
  #worked(count: number): void {
    this.batches.answered(count, this.#clock.monotonic())
    if (count > 1) this.#answersAlone = false
    this.#rest.end()
    this.#isRecovering = false
    this.#maxRequests = Math.min(maxRequests, this.#maxRequests * 2)
    this.#failure = undefined
    this.wellSince = Math.min(this.wellSince, this.#clock.monotonic())
  }

  #limited(cause: TooManyRequests | RpcError): { failure: Error } {
    this.#rest.begin(cause)
    this.#isRecovering = true
    this.#answersAlone = false
    this.#maxRequests = 1
    this.wellSince = Number.POSITIVE_INFINITY
    return { failure: this.#rest.error }
  }

  #failed(cause: unknown): { failure: Error } {
    if (cause instanceof TooManyRequests) return this.#limited(cause)
    const failure = cause instanceof Error ? cause : new Error(String(cause))
    this.#failure = failure
    this.failedAt = this.#clock.monotonic()
    this.wellSince = Number.POSITIVE_INFINITY
    this.#chain.reset()
    return { failure }
  }

  #rejectAll(waiting: readonly QueuedCall[], error: Error): void {
    const { leftMs } = this.#rest
    const isShort = error instanceof RateLimited && leftMs !== undefined && leftMs <= this.#patienceMs
    const now = this.#clock.monotonic()
    const again = waiting.filter(({ since }) => isShort && now - since < maxWaitMs)
    for (const one of waiting) if (!again.includes(one)) one.reject(error)
    this.#queue.unshift(...again)
  }
}
