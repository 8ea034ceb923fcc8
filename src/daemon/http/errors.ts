import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  DomainError,
  type ErrorCode,
  type Progress,
  storeFailure,
  whatNext,
} from '../domain/errors/errors.ts'

/** The only map from error codes to HTTP statuses. */
export const statusOf: Record<ErrorCode, number> = {
  invalid_input: 400,
  invalid_metadata: 400,
  tap_malformed: 400,
  team_required: 400,
  not_found: 404,
  api_key_missing: 401,
  api_key_unknown: 401,
  api_key_expired: 401,
  api_key_revoked: 401,
  admin_token_missing: 401,
  admin_token_unknown: 401,
  admin_token_expired: 401,
  admin_token_revoked: 401,
  scope_missing: 403,
  own_batch: 403,
  forwarded_refused: 403,
  conflict: 409,
  in_use: 409,
  already_exists: 409,
  batch_running: 409,
  batch_name_taken: 409,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  too_slow: 408,
  transaction_budget_spent: 429,
  store_unavailable: 503,
  store_full: 503,
  outcome_unknown: 503,
  otp_missing: 401,
  otp_unknown: 401,
  otp_deleted: 401,
  otp_used: 401,
  otp_expired: 401,
  otp_unsupported: 400,
  claim_kept: 409,
  mail_code_wrong: 400,
  mail_code_over: 400,
  recipient_invalid: 400,
  simulation_reverted: 400,
  registration_missing: 409,
  registration_early: 409,
  registration_expired: 409,
  registration_same_tap: 409,
  token_taken: 409,
  transaction_refused: 409,
  idempotency_conflict: 409,
  signature_invalid: 401,
  signature_expired: 401,
  signature_used: 401,
  chain_unavailable: 503,
  chain_not_configured: 400,
  badge_not_active: 400,
  badge_codes_gone: 400,
  badge_device_used: 400,
  badge_refused: 400,
  badge_unavailable: 503,
}

interface ErrorBody {
  statusCode: number
  error: string
  message: string
  code: string
  requestId: string
  transactionId?: number
  success?: false
  errors?: Record<string, string>
  /** Set if the database is unavailable. */
  server?: string
  reason?: string
}

/** For the log: there is no one left to answer. */
export const disconnected = (): DomainError =>
  new DomainError('invalid_input', 'The client disconnected before it was answered.')

/** A streamed answer whose connection closed before it began. */
export const isUnsent = (error: unknown, answer: { readonly destroyed: boolean }): boolean =>
  answer.destroyed && codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE'

interface ErrorAnswer {
  body: ErrorBody
  retryAfterSeconds: number | undefined
  /** True if the error belongs in the log, because the client does not see its text. */
  isOurs: boolean
}

/** Returns what a client may see of an error. Anything unexpected is a 500 without internal details. */
export function answerTo(
  error: unknown,
  requestId: string,
  { isAnonymous = true, progress }: { isAnonymous?: boolean; progress?: Progress } = {},
): ErrorAnswer {
  const known = storeFailure(error, progress) ?? (error instanceof DomainError ? error : fromFramework(error))
  if (!known)
    return {
      body: bodyOf(500, 'internal', internalMessage(requestId), requestId),
      retryAfterSeconds: undefined,
      isOurs: true,
    }
  const statusCode = statusOf[known.code]
  const { transactionId, forStrangers } = known.detail
  // The request waits for a transaction that it recorded.
  const next = known.code === 'chain_unavailable' && transactionId !== undefined
  const message =
    ((isAnonymous ? forStrangers : undefined) ?? known.message) +
    (next ? ` ${whatNext({ ...progress, transactionId })}` : '')
  const body = bodyOf(statusCode, known.code, message, requestId)
  if (transactionId !== undefined) body.transactionId = transactionId
  if (known.code === 'invalid_metadata')
    Object.assign(body, { success: false, errors: { ...known.detail.errors } })
  Object.assign(body, known.detail.trouble)
  return { body, retryAfterSeconds: known.detail.retryAfterSeconds, isOurs: statusCode >= 500 }
}

const internalMessage = (requestId: string): string =>
  `Something went wrong inside the daemon. Its log has the cause under this request's id, ${requestId}.`

function bodyOf(statusCode: number, code: string, message: string, requestId: string): ErrorBody {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Error', message, code, requestId }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

function fromFramework(error: unknown): DomainError | undefined {
  const code = codeOf(error)
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new DomainError(
        'too_large',
        'The body is too large for this endpoint. Send it in smaller parts.',
      )
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new DomainError(
        'unsupported_media_type',
        'This endpoint does not take that content type. Send application/json.',
      )
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return new DomainError('invalid_input', 'body is not valid JSON', {
        errors: { body: 'is not valid JSON' },
      })
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new DomainError('invalid_input', 'body does not have the length stated in Content-Length')
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new DomainError('not_found', 'There is nothing at this address.')
  }
  return isBadRequest(error) ? new DomainError('invalid_input', 'The request is malformed.') : undefined
}

function isBadRequest(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && error.statusCode === 400
}

/**
 * An error as raw HTTP/1.1, for a connection that can no longer be answered normally and is then closed.
 * @param isReadable whether pages of any origin may read it
 */
export function rawAnswer(error: ErrorBody, isReadable = false): string {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    ...(isReadable ? { 'access-control-allow-origin': '*' } : {}),
  }
  return rawHttp(error.statusCode, { headers, body: JSON.stringify(error) })
}

/** The last answer of a connection, as raw HTTP/1.1. */
export function rawHttp(
  status: number,
  { headers, body }: { headers: Record<string, string>; body: string },
): string {
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}

interface Failed {
  /** HTTP status code. */
  status: number
  code: string
  retryAfterSeconds: number | undefined
}

/** Errors as pages, where people rather than programs are at the other end. */
export interface ErrorPages {
  /** @returns false if the caller gets JSON as everywhere else */
  send(request: FastifyRequest, reply: FastifyReply, failed: Failed): boolean
  /**
   * For input that never became a request.
   * @param start of what arrived @returns undefined: JSON
   */
  raw(start: string, failed: Failed): { headers: Record<string, string>; body: string } | undefined
}

const problems: Readonly<Record<string, { statusCode: number; message: string }>> = {
  HPE_HEADER_OVERFLOW: { statusCode: 431, message: 'The request has more headers than this daemon reads.' },
  ERR_HTTP_REQUEST_TIMEOUT: { statusCode: 408, message: 'The request did not arrive in time.' },
}
const maxErrorLength = 20_000

/** For input that never became a request, so no route and no log line knows about it. */
export const answerBrokenHttp =
  (pages: ErrorPages) =>
  (error: Error, socket: Socket): void => {
    if (!socket.writable || ('code' in error && error.code === 'ECONNRESET')) {
      socket.destroy()
      return
    }
    const problem = problems['code' in error ? String(error.code) : ''] ?? {
      statusCode: 400,
      message: 'This is not valid HTTP.',
    }
    const { statusCode: status } = problem
    const reason = STATUS_CODES[status] ?? ''
    const code = 'malformed_request'
    const packet = 'rawPacket' in error && Buffer.isBuffer(error.rawPacket) ? error.rawPacket : undefined
    const start = packet?.subarray(0, maxErrorLength).toString('latin1') ?? ''
    const page = pages.raw(start, { status, code, retryAfterSeconds: undefined })
    socket.end(page ? rawHttp(status, page) : rawAnswer({ ...problem, error: reason, code, requestId: '' }))
  }
