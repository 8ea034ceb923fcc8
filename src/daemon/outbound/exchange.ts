import http, {
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { version } from '../process/version.ts'
import { OutboundFailed, type Progress } from './errors.ts'

export class Deadline {
  readonly #timer: NodeJS.Timeout
  readonly #reached: Promise<never>
  #fail: (error: Error) => void = () => undefined

  constructor(ms: number, error: () => Error) {
    this.#reached = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    // Prevents an unhandled rejection if no step is waiting.
    this.#reached.catch(() => undefined)
    this.#timer = setTimeout(() => this.#fail(error()), ms)
  }

  /**
   * Returns the step's result, or throws the deadline's error if that comes first. The step itself continues.
   */
  race<T>(step: Promise<T>): Promise<T> {
    step.catch(() => undefined)
    return Promise.race([step, this.#reached])
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}

/** Names the program to those who see its requests in their logs. */
const userAgent = `tapchip/${version}`

/**
 * Early hints (RFC 8297) come once or a few times. The limit is needed because Node would parse an endless series.
 */
const maxInformational = 16

export interface Address {
  address: string
  family: number
}

/** An iterable is streamed, and closed if the rest is not needed. */
export type Body = Buffer | string | AsyncIterable<Uint8Array | string>

export interface OutboundAnswer {
  status: number
  headers: IncomingHttpHeaders
  /** The received bytes: no compression is requested or undone. */
  body: Buffer
}

interface Exchange {
  url: URL
  method: string
  headers: Readonly<Record<string, string>>
  body?: Body | undefined
  via: Route
  /** Limit for everything received: status lines, headers, framing, and body. */
  maxBytes: number
  cutsBody?: boolean | undefined
  deadline: Deadline
  progress: Progress
}

/**
 * A new connection to one of the checked addresses, or a pool for one configured origin. A pool reuses
 * connections, whatever was checked for earlier calls.
 */
type Route = { addresses: readonly Address[] } | { pool: Agent }

const pinnedTo =
  (addresses: readonly Address[]): LookupFunction =>
  (_hostname, options, done) => {
    const [first] = addresses
    if (options.all) done(null, [...addresses])
    else if (first) done(null, first.address, first.family)
  }

const ways = (via: Route): Pick<RequestOptions, 'agent' | 'lookup'> =>
  'pool' in via ? { agent: via.pool } : { agent: false, lookup: pinnedTo(via.addresses) }

export async function exchange(call: Exchange): Promise<OutboundAnswer> {
  const request = open(call)
  const received = limitAnswer(request, call)
  request.once('socket', (socket) => {
    if (request.reusedSocket) {
      call.progress.sent = true
      return
    }
    // Nothing is sent before this; with TLS, not before the handshake is complete.
    socket.once(call.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      call.progress.sent = true
    })
  })
  const source: Source = { failed: false }
  try {
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      // The connection may also break later, when no one listens.
      request.on('error', (error) => reject(source.failed ? source.error : failure(call, error)))
    })
    const sent = send(request, call, source)
    // The answer may arrive before the whole request is sent ("too large", for example); then the rest is not
    // sent.
    const response = await call.deadline.race(Promise.race([answered, sent.then(() => answered)]))
    const reading = call.deadline.race(read(response, call, received))
    const body = await (call.cutsBody ? reading.catch(() => Buffer.alloc(0)) : reading)
    return { status: response.statusCode ?? 0, headers: response.headers, body }
  } finally {
    // After a complete answer, the connection is already back in its pool and stays open.
    request.destroy()
    received.end()
  }
}

interface ResponseSize {
  isTooLarge(): boolean
  end(): void
}

/** Ends the exchange once its answer is too large, even if no final response has begun. */
function limitAnswer(request: ClientRequest, call: Exchange): ResponseSize {
  const { url, maxBytes } = call
  let bytes = 0
  let informational = 0
  let end: () => void = () => undefined
  const isTooLarge = () => bytes > maxBytes
  // Listens after Node's parser, so that a head in the same packet is still delivered.
  request.once('socket', (socket) => {
    const count = (chunk: Buffer) => {
      bytes += chunk.length
      if (isTooLarge()) request.destroy(tooLarge(call))
    }
    socket.on('data', count)
    end = () => void socket.off('data', count)
  })
  request.on('information', () => {
    informational += 1
    if (informational <= maxInformational) return
    const what = `more than ${maxInformational} informational responses (1xx) before its answer`
    request.destroy(new OutboundFailed('too_large', `${url.origin} sent ${what}`, true))
  })
  return { isTooLarge, end: () => end() }
}

const tooLarge = ({ url, maxBytes }: Exchange): OutboundFailed =>
  new OutboundFailed(
    'too_large',
    `${url.origin} answers with more than ${maxBytes} bytes, so the rest was not read`,
    true,
  )

function open(call: Exchange): ClientRequest {
  const { url, method, headers, body, via } = call
  const whole = typeof body === 'string' || Buffer.isBuffer(body)
  try {
    return (url.protocol === 'https:' ? https : http).request(url, {
      method,
      headers: {
        'accept-encoding': 'identity',
        'user-agent': userAgent,
        ...(whole ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
        ...headers,
      },
      ...ways(via),
      rejectUnauthorized: true,
    })
  } catch (error) {
    // Node names the method or header that it refuses, but does not show its value.
    throw failure(call, error)
  }
}

interface Source {
  failed: boolean
  error?: unknown
}

async function* watched(body: AsyncIterable<Uint8Array | string>, source: Source) {
  try {
    yield* body
  } catch (error) {
    source.failed = true
    source.error = error
    throw error
  }
}

async function send(request: ClientRequest, call: Exchange, source: Source): Promise<void> {
  const { body } = call
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) {
    request.end(body)
    return
  }
  try {
    await pipeline(Readable.from(watched(body, source), { objectMode: false }), request)
  } catch (error) {
    throw source.failed ? source.error : failure(call, error)
  }
}

async function read(response: IncomingMessage, call: Exchange, received: ResponseSize): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > call.maxBytes) throw tooLarge(call)
  const chunks: Buffer[] = []
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk)
  } catch (error) {
    throw received.isTooLarge() ? tooLarge(call) : failure(call, error)
  }
  if (received.isTooLarge()) throw tooLarge(call)
  return Buffer.concat(chunks)
}

/** Only the code: Node's own errors contain packets and addresses. */
function failure({ url: { origin }, progress }: Exchange, error: unknown): OutboundFailed {
  if (error instanceof OutboundFailed) return error
  // With several addresses, each attempt has a code, and they are usually the same.
  const [first] = error instanceof AggregateError ? error.errors : [error]
  const code: unknown = first instanceof Error && 'code' in first ? first.code : undefined
  return new OutboundFailed(
    'connection',
    `${origin} could not be reached: ${String(code ?? 'connection failed')}`,
    progress.sent,
  )
}
