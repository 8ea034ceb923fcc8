import { isJsonObject, type JsonObject, parseObject } from '../../values/json.ts'
import { type Listener, shownListener } from './address.ts'

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly statusCode: number
  readonly code: string
  readonly requestId: string
  readonly retryAfter: number | undefined
  /** Messages by dotted path, for structures that the daemon validated. */
  readonly errors: Readonly<Record<string, string>> | undefined
  /** Set if the database is unavailable. */
  readonly trouble: ServerTrouble | undefined
  /** Advice that is printed last. */
  afterword: string | undefined

  constructor(answer: {
    statusCode: number
    code: string
    message: string
    requestId: string
    retryAfter: number | undefined
    errors?: Readonly<Record<string, string>> | undefined
    trouble?: ServerTrouble | undefined
  }) {
    super(answer.message)
    this.statusCode = answer.statusCode
    this.code = answer.code
    this.requestId = answer.requestId
    this.retryAfter = answer.retryAfter
    this.errors = answer.errors
    this.trouble = answer.trouble
  }
}

/** The error code of a listener without administration. */
export const elsewhere = 'administration_elsewhere'

/** No response. `advice` says what to do. */
export class DaemonUnreachable extends Error {
  override readonly name = 'DaemonUnreachable'
  readonly advice: string
  afterword: string | undefined

  /** @param isSilent something listens there, but did not answer in time */
  constructor(listener: Listener, why: string, cause: unknown, isSilent = false) {
    const isOutOfFiles = cause instanceof Error && 'code' in cause && /^E[MN]FILE$/.test(String(cause.code))
    super(
      isOutOfFiles
        ? `Cannot connect to ${shownListener(listener)}: too many files and connections are open.`
        : `Daemon not reachable at ${shownListener(listener)}${why === '' ? '' : ` (${why})`}.`,
      { cause },
    )
    this.advice = isOutOfFiles
      ? 'Raise the limit: ulimit -n 1024'
      : isSilent
        ? 'It is busy, or its process is suspended. The request may still be processed. To wait longer: --timeout SECONDS'
        : isLoopback(listener.url.hostname)
          ? 'Start it: tapchip daemon start'
          : 'Check the address: tapchip context show'
  }
}

export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname === '[::1]' ||
  hostname === '::1' ||
  /^127(\.\d{1,3}){3}$/.test(hostname)

/** Another program on the port may have written the answer. */
export const readApiError = (
  status: number,
  retryAfter: string | undefined,
  text: string,
  listener: Listener,
): ApiError => {
  const body = parseObject(text)
  const message = typeof body?.message === 'string' ? body.message : undefined
  const seconds = retryAfter === undefined ? Number.NaN : Number(retryAfter)
  return new ApiError({
    statusCode: status,
    code: typeof body?.code === 'string' ? body.code : 'not_tapchip',
    message:
      message ??
      `${shownListener(listener)} responded with ${status}, but is not a Tapchip daemon. Check the URL.`,
    requestId: typeof body?.requestId === 'string' ? body.requestId : '',
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    errors: messagesIn(body?.errors),
    trouble: troubleIn(body),
  })
}

/** The database server that fails, and the reason. */
export interface ServerTrouble {
  readonly server: string
  readonly reason: string
}

export const troubleIn = (body: JsonObject | undefined): ServerTrouble | undefined =>
  typeof body?.server === 'string' && typeof body.reason === 'string'
    ? { server: body.server, reason: body.reason }
    : undefined

const messagesIn = (value: unknown): Record<string, string> | undefined =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([path, message]) => [path, String(message)]))
    : undefined

/** A daemon that faces the public answers 404 for administration. */
export const administrationElsewhere = (error: ApiError, path: string): ApiError => {
  if (!path.startsWith('/admin') || error.statusCode !== 404 || !/at this path/.test(error.message))
    return error
  const { statusCode, requestId, retryAfter } = error
  return new ApiError({
    statusCode,
    code: elsewhere,
    message:
      'Administration has a separate address there. On the same machine it is found automatically; elsewhere, set TAPCHIP_ADMIN_URL.',
    requestId,
    retryAfter,
  })
}

export const isUnknownPath = (error: unknown): boolean =>
  error instanceof ApiError && error.statusCode === 404 && /at this path|^Administration/.test(error.message)
