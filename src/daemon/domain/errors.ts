import { isOutcomeUnknown, isOutOfSpace, isServerFull, isUnavailable } from '../store/disk.ts'

/** `http/errors.ts` alone maps each code to a status. */
export type ErrorCode =
  | 'invalid_input'
  | 'invalid_metadata'
  | 'tap_malformed'
  | 'team_required'
  | 'not_found'
  | 'api_key_missing'
  | 'api_key_unknown'
  | 'api_key_expired'
  | 'api_key_revoked'
  | 'admin_token_missing'
  | 'admin_token_unknown'
  | 'admin_token_expired'
  | 'admin_token_revoked'
  | 'scope_missing'
  | 'forwarded_refused'
  | 'conflict'
  | 'in_use'
  | 'already_exists'
  | 'batch_running'
  | 'batch_taken'
  | 'too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'too_slow'
  | 'transaction_budget_spent'
  | 'store_unavailable'
  | 'store_full'
  | 'outcome_unknown'
  | 'otp_missing'
  | 'otp_unknown'
  | 'otp_deleted'
  | 'otp_used'
  | 'otp_expired'
  | 'otp_unsupported'
  | 'recipient_invalid'
  | 'simulation_reverted'
  | 'registration_missing'
  | 'registration_early'
  | 'registration_expired'
  | 'registration_same_tap'
  | 'token_taken'
  | 'transaction_refused'
  | 'idempotency_conflict'
  | 'signature_invalid'
  | 'signature_expired'
  | 'signature_used'
  | 'chain_unavailable'
  | 'chain_not_configured'
  | 'badge_not_active'
  | 'badge_codes_gone'
  | 'badge_device_used'
  | 'badge_refused'
  | 'badge_unavailable'

interface ErrorDetail {
  /** Field path → message, if there are several problems. */
  readonly errors?: Readonly<Record<string, string>>
  readonly retryAfterSeconds?: number
  /** Shown instead of the message to callers with neither an API key nor an admin token. */
  readonly forStrangers?: string
  readonly cause?: unknown
}

/** An expected refusal. The message says what happened, why, and what to do. */
export class DomainError extends Error {
  override readonly name = 'DomainError'
  readonly code: ErrorCode
  readonly detail: ErrorDetail
  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause })
    this.code = code
    this.detail = detail
  }
}

export const notFound = (what: string): DomainError =>
  new DomainError('not_found', `No such ${what}. Check the id, and that it belongs to your team.`)

export const invalid = (field: string, reason: string): DomainError =>
  new DomainError('invalid_input', `${field} ${reason}`, { errors: { [field]: reason } })

const refusal =
  (code: ErrorCode) =>
  (message: string): DomainError =>
    new DomainError(code, message)

export const conflict = refusal('conflict')
export const alreadyExists = refusal('already_exists')
export const inUse = refusal('in_use')
export const scopeMissing = refusal('scope_missing')

const untouched = 'Nothing was changed; try again'

/** The client's error for a failed write; undefined for other failures. @param stands anything that was achieved */
export function storeFailure(error: unknown, stands?: string): DomainError | undefined {
  if (error instanceof DomainError) return isStoreFailure(error) ? error : undefined
  if (isOutOfSpace(error))
    return new DomainError(
      'store_full',
      `The disk${isServerFull(error) ? ' of the database server' : ''} is full. ${stands ?? `${untouched} once there is space.`}`,
      { retryAfterSeconds: 10, cause: error },
    )
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'EMFILE' || code === 'ENFILE')
    return new DomainError(
      'store_unavailable',
      `The daemon has reached its limit of open files and connections. ${stands ?? `${untouched}.`}`,
      { retryAfterSeconds: 5, cause: error },
    )
  if (isOutcomeUnknown(error))
    return new DomainError(
      'outcome_unknown',
      `The connection to the database was lost before it answered: this may have been done, or not. ${stands ?? ''}`.trimEnd() +
        ' Look before you try again. A request with an Idempotency-Key can be sent again as it is.',
      { retryAfterSeconds: 5, cause: error },
    )
  if (!isUnavailable(error)) return undefined
  return new DomainError(
    'store_unavailable',
    `The database cannot be used right now. ${stands ?? `${untouched}.`}`,
    { retryAfterSeconds: 5, cause: error },
  )
}

const isStoreFailure = ({ code }: DomainError): boolean =>
  code === 'store_full' || code === 'store_unavailable' || code === 'outcome_unknown'
