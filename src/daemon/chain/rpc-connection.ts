import { RpcRequestError } from 'viem'
import * as z from 'zod'
import { excessOf } from '../../values/json-bounds.ts'
import { OutboundFailed } from '../outbound/errors.ts'

/** The chain does not answer now: it is starting, being restarted, or stopped. What was asked may have happened. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/** A node answered, and not as JSON-RPC or the chain's own shapes have it: it said nothing. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

export interface RpcCall {
  method: string
  params?: readonly unknown[]
}

/** How one call of a batch went. */
export type RpcOutcome = { result: unknown } | { error: RpcError }

export interface RpcError {
  code: number
  message: string
  data?: unknown
}

export interface RpcLimits {
  /** For a whole exchange: connection, headers and body. */
  timeoutMs: number
  /** The largest answer, in bytes. */
  maxBytes: number
  /** How many members its objects may have in all, where the node is somebody else's: more take long to parse. */
  maxMembers?: number
  /** What is thrown where no whole answer came; none: what the way out threw. */
  failure?: (cause: OutboundFailed) => Error
}

const rpcAnswer = z.object({
  id: z.union([z.number(), z.string(), z.null()]).optional(),
  result: z.unknown().optional(),
  error: z
    .object({ code: z.number(), message: z.string(), data: z.unknown().optional() })
    .nullish()
    .transform((error) => error ?? undefined),
})

/** How bodies of JSON-RPC travel. An answer comes whole, or OutboundFailed is thrown and its connection closed. */
export interface RpcWire {
  post(
    body: string,
    limits: Pick<RpcLimits, 'timeoutMs' | 'maxBytes'>,
  ): Promise<{ status: number; body: Buffer }>
  close(): void
}

/** JSON-RPC with one end of a wire. A node that stalls in the middle of an answer costs its deadline. */
export class RpcConnection {
  readonly url: string
  readonly #wire: RpcWire
  readonly #limits: RpcLimits
  #lastId = 0

  constructor(url: string, wire: RpcWire, limits: RpcLimits) {
    this.url = url
    this.#wire = wire
    this.#limits = limits
  }

  /** @throws RpcRequestError as viem's own transports do; OutboundFailed where no whole answer came; MalformedAnswer */
  async call(
    method: string,
    params: readonly unknown[] = [],
    limits: Partial<Pick<RpcLimits, 'timeoutMs'>> = {},
  ): Promise<unknown> {
    const body = this.#envelope({ method, params })
    const answer = parsed(rpcAnswer, await this.#ask(body, limits))
    if (answer.id !== body.id) throw new MalformedAnswer('the node answers something else than was asked')
    const outcome = outcomeOf(answer)
    if ('error' in outcome) throw new RpcRequestError({ body, error: outcome.error, url: this.url })
    return outcome.result
  }

  /** Sends calls together; they may be run side by side, in no order. @returns outcomes in the order of the calls */
  async batch(calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    if (calls.length === 0) return []
    const bodies = calls.map((call) => this.#envelope(call))
    const answer = await this.#ask(bodies, {})
    // One error for all: a node that takes no batches, or has had enough.
    if (!Array.isArray(answer)) {
      const { error } = parsed(rpcAnswer, answer)
      if (error === undefined) throw new MalformedAnswer('the node answers a batch with something else')
      return bodies.map(() => ({ error }))
    }
    // What was not asked for is not looked at.
    if (answer.length !== calls.length)
      throw new MalformedAnswer('the node answers a batch with more or fewer answers than calls')
    const byId = new Map(parsed(z.array(rpcAnswer), answer).map((one) => [one.id, outcomeOf(one)]))
    return bodies.map(({ id }) => {
      const outcome = byId.get(id)
      if (outcome === undefined) throw new MalformedAnswer('the node leaves a call of a batch unanswered')
      return outcome
    })
  }

  async #ask(body: unknown, limits: Partial<Pick<RpcLimits, 'timeoutMs'>>): Promise<unknown> {
    const { status, body: bytes } = await this.#post(JSON.stringify(body), { ...this.#limits, ...limits })
    const { maxMembers } = this.#limits
    const excess = maxMembers === undefined ? undefined : await excessOf(bytes, maxMembers)
    if (excess) throw new MalformedAnswer(`the node's answer ${excess.reason}`)
    const text = bytes.toString('utf8')
    let answer: unknown
    try {
      answer = JSON.parse(text)
    } catch {
      throw new MalformedAnswer(`the node answers ${status} with something that is not JSON`)
    }
    // Some send the errors of JSON-RPC itself with another status.
    if ((status < 200 || status > 299) && !isError(answer))
      throw new MalformedAnswer(`the node answers with HTTP status ${status}`)
    return answer
  }

  async #post(body: string, limits: RpcLimits): Promise<{ status: number; body: Buffer }> {
    try {
      return await this.#wire.post(body, limits)
    } catch (error) {
      throw error instanceof OutboundFailed ? (this.#limits.failure?.(error) ?? error) : error
    }
  }

  close(): void {
    this.#wire.close()
  }

  #envelope({ method, params = [] }: RpcCall) {
    this.#lastId += 1
    return { jsonrpc: '2.0' as const, id: this.#lastId, method, params }
  }
}

function parsed<T>(shape: z.ZodType<T>, answer: unknown): T {
  const result = shape.safeParse(answer)
  if (result.success) return result.data
  throw new MalformedAnswer('the node answers something that is not JSON-RPC')
}

const isError = (answer: unknown): boolean => {
  const result = rpcAnswer.safeParse(answer)
  return result.success && result.data.error !== undefined
}

const outcomeOf = ({ error, result }: z.infer<typeof rpcAnswer>): RpcOutcome =>
  error ? { error } : { result: result ?? null }
