import { RpcRequestError } from 'viem'
import * as z from 'zod'
import { excessOf } from '../../values/json-bounds.ts'
import { OutboundFailed } from '../outbound/errors.ts'

/** The chain is starting, restarting, or stopped. The call may have taken effect. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/** A node's answer was not valid JSON-RPC, or did not have the expected shape; it carries no information. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

export interface RpcCall {
  method: string
  params?: readonly unknown[]
}

export type RpcOutcome = { result: unknown } | { error: RpcError }

export interface RpcError {
  code: number
  message: string
  data?: unknown
}

export interface RpcLimits {
  timeoutMs: number
  /** The largest answer, in bytes. */
  maxBytes: number
  /** The maximum number of object members in an answer from an untrusted node: more take long to parse. */
  maxMembers?: number
  /** Makes the error for an incomplete answer; absent: the outbound error itself. */
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

/**
 * Transports JSON-RPC bodies. Without a complete answer, it throws OutboundFailed and closes the connection.
 */
export interface RpcWire {
  post(
    body: string,
    limits: Pick<RpcLimits, 'timeoutMs' | 'maxBytes'>,
  ): Promise<{ status: number; body: Buffer }>
  close(): void
}

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

  /**
   * @throws RpcRequestError like viem's own transports, OutboundFailed without a complete answer,
   * MalformedAnswer
   */
  async call(
    method: string,
    params: readonly unknown[] = [],
    limits: Partial<Pick<RpcLimits, 'timeoutMs'>> = {},
  ): Promise<unknown> {
    const body = this.#envelope({ method, params })
    const answer = parsed(rpcAnswer, await this.#ask(body, limits))
    if (answer.id !== body.id) throw new MalformedAnswer('the node answered another request')
    const outcome = outcomeOf(answer)
    if ('error' in outcome) throw new RpcRequestError({ body, error: outcome.error, url: this.url })
    return outcome.result
  }

  /**
   * Sends calls together; they may run concurrently, in any order.
   * @returns outcomes in the order of the calls
   */
  async batch(calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    if (calls.length === 0) return []
    const bodies = calls.map((call) => this.#envelope(call))
    const answer = await this.#ask(bodies, {})
    // One error for all: the node does not support batches, or is rate limiting.
    if (!Array.isArray(answer)) {
      const { error } = parsed(rpcAnswer, answer)
      if (error === undefined) throw new MalformedAnswer('the node did not answer a batch with a list')
      return bodies.map(() => ({ error }))
    }
    // Answers to other questions are not read.
    if (answer.length !== calls.length)
      throw new MalformedAnswer('the node answered a batch with more or fewer answers than calls')
    const byId = new Map(parsed(z.array(rpcAnswer), answer).map((one) => [one.id, outcomeOf(one)]))
    return bodies.map(({ id }) => {
      const outcome = byId.get(id)
      if (outcome === undefined) throw new MalformedAnswer('the node left a call of a batch unanswered')
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
    // Some nodes send JSON-RPC errors with another status.
    if ((status < 200 || status > 299) && !isError(answer))
      throw new MalformedAnswer(`the node answered with HTTP status ${status}`)
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
  throw new MalformedAnswer('the node answered with something that is not JSON-RPC')
}

const isError = (answer: unknown): boolean => {
  const result = rpcAnswer.safeParse(answer)
  return result.success && result.data.error !== undefined
}

const outcomeOf = ({ error, result }: z.infer<typeof rpcAnswer>): RpcOutcome =>
  error ? { error } : { result: result ?? null }
