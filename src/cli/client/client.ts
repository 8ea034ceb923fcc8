import type http from 'node:http'
import { batchHeader } from '../../values/batch.ts'
import { isJsonObject, parseObject, stringifyExact } from '../../values/json.ts'
import { changesSomething, dryRunPrefix } from '../../values/repeating.ts'
import { CliError, exitCodes } from '../errors.ts'
import { addressOf, type Listener, listenerAt, shownListener } from './address.ts'
import { parseAnswer, parseLine } from './answers.ts'
import { type Connection, connect, linesOf, type SendOptions, textOf, unreachable } from './connection.ts'
import { ApiError, administrationElsewhere, readApiError } from './errors.ts'
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

interface UntypedRequest {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly code?: string
  readonly idempotencyKey?: string | undefined
  readonly upload?: Upload
  readonly signal?: AbortSignal
  readonly idleTimeoutMs?: number
}

const isRequest = (value: unknown): value is UntypedRequest => typeof value === 'object' && value !== null

const announcedFromMs = 2000

/** A stream is silent while the daemon works; ten minutes of silence are a failure. */
const streamIdleMs = 600_000

export const createClient = (options: ClientOptions): Client => {
  const { wirePrefix = 'svc', wireBadge = 'badge', timeoutMs = 30_000 } = options
  const sleep = options.sleep ?? ((ms: number) => new Promise<void>((done) => setTimeout(done, ms)))
  const random = options.random ?? Math.random
  const daemon = connect(listenerAt(options.url))
  let administration: Connection | undefined
  const admin = () => {
    const address = options.adminUrl?.() ?? options.url
    administration ??= address === options.url ? daemon : connect(listenerAt(address))
    return administration
  }
  const instances = new Map<Connection, Promise<string | undefined>>()

  const plainHeaders = { accept: 'application/json', 'user-agent': `tapchip/${__TAPCHIP_VERSION__}` }
  const keysFor = (path: string): Record<string, string> => {
    const headers: Record<string, string> = {}
    // Under /admin, the API key tells the daemon which team is meant.
    if (options.apiKey) headers[`x-${wirePrefix}-api-key`] = options.apiKey
    const token = path.startsWith('/admin') ? options.adminToken?.() : undefined
    if (token) headers.authorization = `Bearer ${token}`
    return headers
  }

  const refused = async (answer: http.IncomingMessage, listener: Listener): Promise<ApiError> =>
    readApiError(answer.statusCode ?? 0, answer.headers['retry-after'], await textOf(answer), listener)

  const askInstance = async (connection: Connection): Promise<string | undefined> => {
    const sending = { method: 'GET', path: '/healthz', headers: plainHeaders, idleTimeoutMs: timeoutMs }
    const answer = await connection.send(sending)
    if ((answer.statusCode ?? 0) >= 300) throw await refused(answer, connection.listener)
    return instanceIn(await textOf(answer))
  }
  const instanceAt = (connection: Connection): Promise<string | undefined> => {
    const asked = instances.get(connection) ?? askInstance(connection)
    instances.set(connection, asked)
    asked.catch(() => instances.delete(connection))
    return asked
  }

  /** Sends our keys only after the daemon has proved to be the one that they are for. */
  const send = async (
    sending: SendOptions,
    prefix = '',
  ): Promise<{ answer: http.IncomingMessage; listener: Listener }> => {
    const connection = sending.path.startsWith('/admin') ? admin() : daemon
    const { listener } = connection
    const keys = keysFor(sending.path)
    const { instance } = options
    if (instance !== undefined && Object.keys(keys).length > 0 && (await instanceAt(connection)) !== instance)
      throw wrongDaemonError(listener, options.contextName)
    const batch = options.batch?.()
    const ofBatch = batch === undefined ? {} : { [batchHeader]: batch }
    const headers = { ...plainHeaders, ...keys, ...ofBatch, ...sending.headers }
    const path = prefix + sending.path
    return { answer: await connection.send({ ...sending, path, headers }), listener }
  }

  const beforeChange = async (key: string, { code }: UntypedRequest): Promise<void> => {
    if (changesSomething(key)) await options.beforeChange?.({ key, isRead: key.startsWith('GET '), code })
  }

  const once = async (key: string, request: UntypedRequest, prefix = ''): Promise<unknown> => {
    const { method, path } = addressOf(key, request, wireBadge)
    const body = request.body === undefined ? request.upload : stringifyExact(request.body)
    const headers: Record<string, string> = {}
    if (request.code !== undefined) headers[`x-${wirePrefix}-code`] = request.code
    if (request.idempotencyKey !== undefined) headers['idempotency-key'] = request.idempotencyKey
    if (body !== undefined)
      headers['content-type'] = typeof body === 'string' ? 'application/json' : body.contentType
    const sending = { method, path, headers, body, idleTimeoutMs: timeoutMs }
    const { answer, listener } = await send(sending, prefix)
    if ((answer.statusCode ?? 0) >= 300) throw administrationElsewhere(await refused(answer, listener), path)
    const text = await textOf(answer).catch((error: unknown) => {
      throw unreachable(listener, error)
    })
    return parseAnswer(text, wireBadge, answer.statusCode ?? 0, listener)
  }

  const withRetries = async <T>(
    key: string,
    attempted: () => Promise<T>,
    isFor: (error: unknown) => boolean,
    mayRepeat: boolean,
  ): Promise<T> => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await attempted()
      } catch (error) {
        const wait = isFor(error) ? waitBefore(attempt + 1, key, error, { random, mayRepeat }) : undefined
        if (wait === undefined) throw error
        if (wait >= announcedFromMs) options.onWait?.(Math.round(wait / 1000))
        await sleep(wait)
      }
    }
  }

  // Inside, requests and answers are untyped. The signatures that callers see tie them to the key: both ends are built
  // from one endpoint table, and validating answers against its schemas would double the CLI's start time.
  function call<K extends EndpointKey>(key: K, ...request: CallArguments<K>): Promise<AnswerOf<K>>
  async function call(key: string, ...[input]: readonly unknown[]): Promise<unknown> {
    const request = isRequest(input) ? input : {}
    await beforeChange(key, request)
    return withRetries(
      key,
      () => once(key, request),
      () => true,
      request.idempotencyKey !== undefined,
    )
  }

  async function tryOut(
    key: string,
    { idempotencyKey: _, ...request }: UntypedRequest,
  ): Promise<'all' | 'input'> {
    const attempted = () => once(key, request, dryRunPrefix)
    const answer = await withRetries(key, attempted, () => true, true)
    return isJsonObject(answer) && answer.checked === 'input' ? 'input' : 'all'
  }

  function stream<K extends StreamKey>(key: K, request: StreamRequest<K>): AsyncGenerator<AnswerOf<K>>
  async function* stream(key: string, request: UntypedRequest): AsyncGenerator<unknown> {
    const { method, path } = addressOf(key, request, wireBadge)
    const headers = { accept: 'application/x-ndjson' }
    await beforeChange(key, request)
    const { upload, signal, idleTimeoutMs = streamIdleMs } = request
    let from = daemon.listener
    const open = async () => {
      const { answer, listener } = await send({
        method,
        path,
        headers: upload ? { ...headers, 'content-type': upload.contentType } : headers,
        body: upload,
        idleTimeoutMs,
        signal,
      })
      from = listener
      if ((answer.statusCode ?? 0) >= 300)
        throw administrationElsewhere(await refused(answer, listener), path)
      return answer
    }
    // A generator can be read only once.
    const mayOpenAgain = upload === undefined || !('next' in Object(upload.content))
    try {
      const answer = await withRetries(key, open, (error) => mayOpenAgain && isTooMany(error), false)
      for await (const line of linesOf(answer)) yield parseLine(line, from)
    } catch (error) {
      if (signal?.aborted) return
      throw error instanceof Error && 'code' in error && error.code === 'ECONNRESET'
        ? unreachable(from, error)
        : error
    }
  }

  const forward: Client['forward'] = async (key, { body, signal, ...request }) => {
    const accept = 'application/json, application/x-ndjson'
    const headers = body === undefined ? { accept } : { accept, 'content-type': 'application/json' }
    const sending = { ...addressOf(key, request, wireBadge), headers, body, signal, idleTimeoutMs: timeoutMs }
    const { answer, listener } = await send(sending)
    if (/^application\/(json|x-ndjson)\b/.test(answer.headers['content-type'] ?? '')) return answer
    // A network's login page, or a proxy: none of it may reach a page of ours.
    answer.destroy()
    throw readApiError(answer.statusCode ?? 0, undefined, '', listener)
  }

  const probe = async (path: string) => {
    const sending = { method: 'GET', path, headers: plainHeaders, idleTimeoutMs: timeoutMs }
    const answer = await daemon.send(sending)
    return { status: answer.statusCode ?? 0, text: await textOf(answer), date: answer.headers.date }
  }

  const close = () => {
    daemon.close()
    administration?.close()
  }
  return {
    url: daemon.listener.url,
    call,
    tryOut,
    stream,
    forward,
    probe,
    instance: () => instanceAt(daemon),
    close,
  }
}

const instanceIn = (health: string): string | undefined => {
  const instance = parseObject(health)?.instance
  return typeof instance === 'string' && instance !== '' ? instance : undefined
}

const wrongDaemonError = (listener: Listener, contextName = ''): CliError =>
  new CliError(
    `The daemon at ${shownListener(listener)} is not the one that the context "${contextName}" has keys for. No key was sent.`,
    {
      exitCode: exitCodes.authentication,
      advice: `Check the address: tapchip context list. If it was set up again, save its new key: tapchip login --context ${contextName}`,
    },
  )

const isTooMany = (error: unknown): boolean => error instanceof ApiError && error.statusCode === 429
