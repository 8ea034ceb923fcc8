import { RpcRequestError } from 'viem'
import * as z from 'zod'
import { excessOf } from '../../values/json-bounds.ts'
import { OutboundFailed } from '../outbound/errors.ts'
import { plainText } from '../outbound/foreign-text.ts'

/** The chain is starting, restarting, or stopped. The call may have taken effect. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable'
}

/** A node's answer was not valid JSON-RPC, or did not have the expected shape; it carries no information. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

/** HTTP 429: the node wants fewer requests. */
export class TooManyRequests extends Error {
  override readonly name = 'TooManyRequests'
  constructor(
    /** The header, if there is one. */
    readonly retryAfter: string | undefined,
    readonly error: RpcError | undefined,
  ) {
    super('the node limits requests (HTTP 429)')
  }
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

interface RpcResponse {
  status: number
  retryAfter?: string | undefined
  body: Buffer
}

/**
 * Transports JSON-RPC bodies. Without a complete answer, it throws OutboundFailed and closes the connection.
 */
export interface RpcWire {
  post(body: string, limits: Pick<RpcLimits, 'timeoutMs' | 'maxBytes'>): Promise<RpcResponse>
  close(): void
}

/** A gateway may fail on one in two calls. */
const maxRepeats = 3
/** A node that answered within this time has hardly gone away. */
const aliveForMs = 10_000

export class RpcConnection {
  readonly url: string
  readonly #wire: RpcWire
  readonly #limits: RpcLimits
  readonly #secrets: readonly string[]
  #lastId = 0
  #answeredAt = Number.NEGATIVE_INFINITY

  constructor(url: string, wire: RpcWire, limits: RpcLimits) {
    this.url = url
    this.#secrets = secretsIn(url)
    this.#wire = wire
    this.#limits = limits
  }

  /**
   * @throws RpcRequestError like viem's own transports, OutboundFailed without a complete answer,
   * MalformedAnswer, TooManyRequests
   */
  async call(
    method: string,
    params: readonly unknown[] = [],
    limits: Partial<Pick<RpcLimits, 'timeoutMs'>> = {},
  ): Promise<unknown> {
    const body = { method, params }
    const outcome = await this.ask(body, limits)
    if ('error' in outcome) throw new RpcRequestError({ body, error: outcome.error, url: this.url })
    return outcome.result
  }

  async ask(call: RpcCall, limits: Partial<Pick<RpcLimits, 'timeoutMs'>> = {}): Promise<RpcOutcome> {
    const body = this.#envelope(call)
    const answer = parsed(rpcAnswer, await this.#exchange(body, limits))
    // Nodes that cannot read a request answer it without its id.
    if (answer.id !== body.id && answer.error === undefined)
      throw new MalformedAnswer('the node answered another request')
    return this.#outcomeOf(answer)
  }

  /**
   * Repeats a call at once after a temporary fault, such as a gateway's; otherwise a caller with many calls would
   * lose all answers. A rate limit takes longer to pass.
   * @param isOnly no other URL can answer, so a silent node that answered a moment ago is asked again
   */
  async retry(call: RpcCall, isOnly: boolean): Promise<RpcOutcome> {
    const isAlive = isOnly && performance.now() - this.#answeredAt < aliveForMs
    for (let left = maxRepeats; ; left--) {
      try {
        return await this.ask(call)
      } catch (error) {
        if (isAlive && error instanceof OutboundFailed && error.kind === 'timeout')
          return this.ask(call, { timeoutMs: this.#limits.timeoutMs / 2 })
        const isPassing =
          error instanceof OutboundFailed ? error.kind === 'connection' : error instanceof MalformedAnswer
        if (!isPassing || left === 0) throw error
      }
    }
  }

  /**
   * Sends calls together; they may run concurrently, in any order.
   * @returns outcomes in the order of the calls
   */
  async batch(calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
    if (calls.length === 0) return []
    const bodies = calls.map((call) => this.#envelope(call))
    const answer = await this.#exchange(bodies, {})
    // One error for all: the node does not support batches, or is rate limiting.
    if (!Array.isArray(answer)) {
      const { error } = parsed(rpcAnswer, answer)
      if (error === undefined) throw new MalformedAnswer('the node did not answer a batch with a list')
      return bodies.map(() => this.#outcomeOf({ error }))
    }
    // Answers with other ids are ignored.
    if (answer.length !== calls.length)
      throw new MalformedAnswer('the node answered a batch with more or fewer answers than calls')
    const byId = new Map(parsed(z.array(rpcAnswer), answer).map((one) => [one.id, this.#outcomeOf(one)]))
    return bodies.map(({ id }) => {
      const outcome = byId.get(id)
      if (outcome === undefined) throw new MalformedAnswer('the node left a call of a batch unanswered')
      return outcome
    })
  }

  async #exchange(body: unknown, limits: Partial<Pick<RpcLimits, 'timeoutMs'>>): Promise<unknown> {
    const {
      status,
      retryAfter,
      body: bytes,
    } = await this.#post(JSON.stringify(body), { ...this.#limits, ...limits })
    const { maxMembers } = this.#limits
    const excess = maxMembers === undefined ? undefined : await excessOf(bytes, maxMembers)
    if (excess) throw new MalformedAnswer(`the node's answer ${excess.reason}`)
    const answer = parsedJson(bytes.toString('utf8'))
    if (status < 200 || status > 299) {
      const error = this.#errorIn(answer)
      if (status === 429) throw new TooManyRequests(retryAfter, error)
      // Some nodes send JSON-RPC errors with another status. A refused key is no answer to the call.
      if (error === undefined || status === 401 || status === 403)
        throw new MalformedAnswer(`the node answered with HTTP status ${status}${messageIn(error)}`)
    }
    if (answer === undefined)
      throw new MalformedAnswer(`the node answers ${status} with something that is not JSON`)
    this.#answeredAt = performance.now()
    return answer
  }

  async #post(body: string, limits: RpcLimits): Promise<RpcResponse> {
    try {
      return await this.#wire.post(body, limits)
    } catch (error) {
      throw error instanceof OutboundFailed ? (this.#limits.failure?.(error) ?? error) : error
    }
  }

  close(): void {
    this.#wire.close()
  }

  #outcomeOf({ error, result }: z.infer<typeof rpcAnswer>): RpcOutcome {
    return error ? { error: this.#withoutSecrets(error) } : { result: result ?? null }
  }

  #errorIn(answer: unknown): RpcError | undefined {
    const { error } = rpcAnswer.safeParse(answer).data ?? {}
    return error && this.#withoutSecrets(error)
  }

  #withoutSecrets(error: RpcError): RpcError {
    const message = this.#secrets.reduce((text, secret) => text.replaceAll(secret, '…'), error.message)
    return { ...error, message }
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

const messageIn = (error: RpcError | undefined): string =>
  error === undefined ? '' : `: ${plainText(error.message)}`

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parts of a URL that may be a key, which nodes repeat in their messages. */
function secretsIn(url: string): string[] {
  const { username, password, pathname, searchParams } = new URL(url)
  const long = [...pathname.split('/'), ...searchParams.values()].filter(({ length }) => length >= 8)
  const all = [...long, ...[username, password].filter(({ length }) => length >= 4)]
  return all.sort((one, other) => other.length - one.length)
}

// Revert reasons of contracts are shorter; longer ones are cut wherever they are shown.
const maxData = 8192

/** Makes a node's error like viem's own transports, bounded in length, and without the API key in the URL. */
export function nodeError(call: RpcCall, { code, message, data }: RpcError, url: string): RpcRequestError {
  const isShort = typeof data === 'string' && data.length <= maxData
  const error = { code, message: plainText(message), ...(isShort ? { data } : {}) }
  return new RpcRequestError({ body: { ...call }, error, url: new URL(url).origin })
}

/** Removes secrets from each URL: RPC URLs contain keys. */
export const withoutUrls = (text: string): string =>
  text.replace(/\b(https?:\/\/)(?:[^\s/@]*@)?([^\s/?#]+)\S*/g, '$1$2')
