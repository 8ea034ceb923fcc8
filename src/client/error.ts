import type { TapchipError as Declared } from './api.d.ts'

type Details = Partial<
  Pick<Declared, 'status' | 'requestId' | 'transactionId' | 'retryAfter' | 'errors' | 'cause'>
>

export class TapchipError extends Error implements Declared {
  override readonly name = 'TapchipError'
  readonly code: string
  readonly status: number
  readonly requestId: string
  readonly transactionId: number | undefined
  readonly retryAfter: number | undefined
  readonly errors: Readonly<Record<string, string>> | undefined

  constructor(code: string, message: string, details: Details = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause })
    this.code = code
    this.status = details.status ?? 0
    this.requestId = details.requestId ?? ''
    this.transactionId = details.transactionId
    this.retryAfter = details.retryAfter
    this.errors = details.errors
  }
}

export const invalid = (message: string): TapchipError => new TapchipError('invalid_argument', message)

/** Reads an answer that is no success. */
export function refusal(status: number, headers: Headers, text: string, host: string): TapchipError {
  const body = objectIn(text)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const details = {
    status,
    requestId: typeof body.requestId === 'string' ? body.requestId : '',
    transactionId: typeof body.transactionId === 'number' ? body.transactionId : undefined,
    retryAfter: Number.isFinite(seconds) ? seconds : undefined,
    errors: messagesIn(body.errors),
  }
  return typeof body.code === 'string' && typeof body.message === 'string'
    ? new TapchipError(body.code, body.message, details)
    : notTapchip(host, `responded with ${status}`, details)
}

export const notTapchip = (host: string, how: string, details: Details): TapchipError =>
  new TapchipError(
    'not_tapchip',
    `${host} ${how}, but is not a Tapchip daemon. Check baseUrl, and the proxy in front of it.`,
    details,
  )

function objectIn(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

const messagesIn = (value: unknown): Record<string, string> | undefined =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([path, message]) => [path, String(message)]))
    : undefined
