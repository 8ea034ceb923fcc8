import { transactionOf } from '../../store/audit/effects.ts'
import { isOutcomeUnknown, isOutOfSpace, isServerFull, isUnavailable } from '../../store/data-dir/disk.ts'
import type { ServerTrouble } from '../../store/database/database.ts'

export { effectsOf } from '../../store/audit/effects.ts'
export { whyLost } from '../../store/data-dir/disk.ts'

/** Only `http/errors.ts` maps codes to statuses. */
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
  | 'batch_name_taken'
  | 'own_batch'
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
  | 'claim_kept'
  | 'mail_code_wrong'
  | 'mail_code_over'
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
  /** The transaction that the request recorded, if its write succeeded. */
  readonly transactionId?: number | undefined
  /** Which server of the database, and why; part of the answer. */
  readonly trouble?: ServerTrouble
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

/** Another team's is not found, in the same words as an unknown one. @throws DomainError not_found */
export function ownOf<Row extends { readonly teamId: number | null }>(
  { ofTeam }: { readonly ofTeam?: number | undefined },
  row: Row | undefined,
  what: string,
): Row {
  if (row && (ofTeam === undefined || row.teamId === ofTeam)) return row
  throw notFound(what)
}

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

/** Decides what an error may say: that nothing was changed, or that the request may have taken effect. */
export interface Progress {
  /** At least part of it is in the database. */
  readonly isWritten?: boolean
  readonly transactionId?: number | undefined
  /** The request has an Idempotency-Key. */
  readonly isKeyed?: boolean
  /** Authorized by a code, a tap, or a signature, each of which works once. */
  readonly isOneUse?: boolean
  /** Says what was done before, and how to continue with the rest, which was not done. */
  readonly stands?: string
  /** The same, if the rest may have been done. */
  readonly outcomeMessage?: string
}

/** The client's error for a failed write; undefined for other failures. */
export function storeFailure(error: unknown, progress: Progress = {}): DomainError | undefined {
  if (error instanceof DomainError) return isStoreFailure(error) ? error : undefined
  const failed = problemOf(error)
  if (!failed) return undefined
  const { code, problem, retry, retryAfterSeconds } = failed
  if (code === 'outcome_unknown' || progress.isWritten) return outcomeUnknown(error, problem, progress)
  const message = `${problem} ${progress.stands ?? retry}`
  return new DomainError(code, message, { retryAfterSeconds, cause: error })
}

function problemOf(error: unknown) {
  const unavailable = { code: 'store_unavailable', retry: `${untouched}.`, retryAfterSeconds: 5 } as const
  if (isOutOfSpace(error))
    return {
      code: 'store_full',
      problem: `The disk${isServerFull(error) ? ' of the database server' : ''} is full.`,
      retry: `${untouched} once there is space.`,
      retryAfterSeconds: 10,
    } as const
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'EMFILE' || code === 'ENFILE')
    return { ...unavailable, problem: 'The daemon has reached its limit of open files and connections.' }
  if (isOutcomeUnknown(error))
    return {
      ...unavailable,
      code: 'outcome_unknown',
      problem: 'The connection to the database was lost before it answered.',
    } as const
  return isUnavailable(error)
    ? { ...unavailable, problem: 'The database cannot be used right now.' }
    : undefined
}

function outcomeUnknown(cause: unknown, problem: string, progress: Progress): DomainError {
  const { isWritten, outcomeMessage, transactionId = transactionOf(cause) } = progress
  const outcome = isWritten ? writtenMessage(transactionId) : uncertainMessage(transactionId)
  const message = outcomeMessage ?? `${outcome} ${whatNext({ ...progress, transactionId })}`
  return new DomainError('outcome_unknown', `${problem} ${message}`, {
    ...{ retryAfterSeconds: 5, transactionId, cause },
  })
}

const writtenMessage = (transactionId: number | undefined): string =>
  transactionId === undefined
    ? 'At least part of this was already done.'
    : `This is recorded as transaction ${transactionId}, which will be sent.`

const uncertainMessage = (transactionId: number | undefined): string =>
  transactionId === undefined
    ? 'This may have been done, or not.'
    : `This may have been done, or not: if it was, it is transaction ${transactionId}.`

/** Advice for a client whose request has, or may have, taken effect. */
export function whatNext({ transactionId, isKeyed, isOneUse }: Progress): string {
  if (isKeyed)
    return 'Send the same request again with the same Idempotency-Key: it takes effect once, and you get its answer.'
  if (isOneUse) return 'What authorized it works only once, so sending it again cannot do it twice.'
  return transactionId === undefined
    ? 'Check what it was to change before you send it again.'
    : `Check before you send it again: tapchip transactions show ${transactionId} (GET /transactions/${transactionId}).`
}

const isStoreFailure = ({ code }: DomainError): boolean =>
  code === 'store_full' || code === 'store_unavailable' || code === 'outcome_unknown'
