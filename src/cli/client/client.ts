import type http from 'node:http'
import { addressOf } from './address.ts'
import { connect, linesOf, textOf, unreachable } from './connection.ts'
import { type ApiError, readApiError } from './errors.ts'
import { waitBefore } from './retry.ts'
import type {
  AnswerOf,
  CallArguments,
  Client,
  ClientOptions,
  EndpointKey,
  StreamKey,
  StreamRequest,
  Upload,
} from './types.ts'

interface Loose {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly code?: string
  readonly idempotencyKey?: string | undefined
  readonly upload?: Upload
  readonly signal?: AbortSignal
}

const isLoose = (value: unknown): value is Loose => typeof value === 'object' && value !== null

/** A streamed answer is silent while the daemon works; ten minutes of silence are a failure. */
const streamIdleMs = 600_000

/** The typed client: an endpoint's key fixes what goes in and what comes out. */
export const createClient = (options: ClientOptions): Client => {
  const url = new URL(options.url)
  const { wirePrefix = 'svc', wireBadge = 'badge', timeoutMs = 30_000 } = options
  const sleep = options.sleep ?? ((ms: number) => new Promise<void>((done) => setTimeout(done, ms)))
  const random = options.random ?? Math.random
  const connection = connect(url)

  const headersFor = (path: string): Record<string, string> => {
    const headers: Record<string, string> = {
      accept: 'application/json',
      'user-agent': `tapchip/${__TAPCHIP_VERSION__}`,
    }
    // Under /admin the key goes too: it tells the daemon which team is meant.
    if (options.apiKey) headers[`x-${wirePrefix}-api-key`] = options.apiKey
    const token = path.startsWith('/admin') ? options.adminToken?.() : undefined
    if (token) headers.authorization = `Bearer ${token}`
    return headers
  }

  const refused = async (answer: http.IncomingMessage): Promise<ApiError> =>
    readApiError(answer.statusCode ?? 0, answer.headers['retry-after'], await textOf(answer), url)

  const once = async (key: string, request: Loose): Promise<unknown> => {
    const { method, path } = addressOf(key, request, wireBadge)
    const body = request.body === undefined ? request.upload : JSON.stringify(request.body)
    const headers = headersFor(path)
    if (request.code !== undefined) headers[`x-${wirePrefix}-code`] = request.code
    if (request.idempotencyKey !== undefined) headers['idempotency-key'] = request.idempotencyKey
    if (body !== undefined)
      headers['content-type'] = typeof body === 'string' ? 'application/json' : body.contentType
    const answer = await connection.send({ method, path, headers, body, idleTimeoutMs: timeoutMs })
    if ((answer.statusCode ?? 0) >= 300) throw await refused(answer)
    const text = await textOf(answer).catch((error: unknown) => {
      throw unreachable(url, error)
    })
    return parseAnswer(text, wireBadge, answer.statusCode ?? 0, url)
  }

  // Inside, requests and answers are loose. The signatures that callers see tie them to the key: both ends are
  // built from one endpoint table, and checking answers against its schemas would double the CLI's start.
  function call<K extends EndpointKey>(key: K, ...request: CallArguments<K>): Promise<AnswerOf<K>>
  async function call(key: string, ...[given]: readonly unknown[]): Promise<unknown> {
    const request = isLoose(given) ? given : {}
    const mayRepeat = request.idempotencyKey !== undefined
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(key, request)
      } catch (error) {
        const wait = waitBefore(attempt + 1, key, error, { random, mayRepeat })
        if (wait === undefined) throw error
        await sleep(wait)
      }
    }
  }

  function stream<K extends StreamKey>(key: K, request: StreamRequest<K>): AsyncGenerator<AnswerOf<K>>
  async function* stream(key: string, request: Loose): AsyncGenerator<unknown> {
    const { method, path } = addressOf(key, request, wireBadge)
    const headers = { ...headersFor(path), accept: 'application/x-ndjson' }
    const { upload, signal } = request
    try {
      const answer = await connection.send({
        method,
        path,
        headers: upload ? { ...headers, 'content-type': upload.contentType } : headers,
        body: upload,
        idleTimeoutMs: streamIdleMs,
        signal,
      })
      if ((answer.statusCode ?? 0) >= 300) throw await refused(answer)
      for await (const line of linesOf(answer)) yield parseLine(line, url)
    } catch (error) {
      if (signal?.aborted) return
      throw error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
        ? unreachable(url, error)
        : error
    }
  }

  const probe = async (path: string) => {
    const sending = { method: 'GET', path, headers: headersFor(path), idleTimeoutMs: timeoutMs }
    const answer = await connection.send(sending)
    return { status: answer.statusCode ?? 0, text: await textOf(answer), date: answer.headers.date }
  }

  return { url, call, stream, probe, close: connection.close }
}

const parseAnswer = (text: string, wireBadge: string, status: number, url: URL): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return wireBadge === 'badge' ? value : neutral(value, wireBadge)
  } catch {
    throw readApiError(status, undefined, '', url)
  }
}

/** A daemon that speaks another service's words names `badgeEvents` otherwise; scripts see one name. */
const neutral = (value: unknown, wireBadge: string): unknown => {
  if (typeof value !== 'object' || value === null) return value
  for (const suffix of ['Event', 'Events']) {
    const held = Object.getOwnPropertyDescriptor(value, wireBadge + suffix)
    if (!held) continue
    Object.defineProperty(value, `badge${suffix}`, held)
    Reflect.deleteProperty(value, wireBadge + suffix)
  }
  return value
}

const parseLine = (line: string, url: URL): unknown => {
  // A stream that fails after its head was sent can only say so in a line.
  const status = /^\{"statusCode":(\d{3}),/.exec(line)?.[1]
  if (status !== undefined) throw readApiError(Number(status), undefined, line, url)
  try {
    return JSON.parse(line)
  } catch {
    throw readApiError(500, undefined, '', url)
  }
}
