import type { KeyedRequest } from '../../chain/transactions.ts'
import type { ErrorCode } from '../../errors/errors.ts'
import type { BatchDeps, BatchRun } from '../kind.ts'

/** Longer than any batch is kept, so that a row is never sent twice, however late its batch is resumed. */
const keyLifetimeMs = 200 * 24 * 3_600_000

/** The request for a row. @param request everything that identifies it */
export const claimOfRow = (
  { idempotency }: Pick<BatchDeps, 'idempotency'>,
  { teamId }: BatchRun,
  key: string,
  request: unknown,
): KeyedRequest => idempotency.claim({ scope: `batch:${teamId}`, key, request, lifetimeMs: keyLifetimeMs })

/** The same key finds the result of a row whose answer was lost. */
const passing: ReadonlySet<ErrorCode> = new Set([
  'chain_unavailable',
  'badge_unavailable',
  'outcome_unknown',
  'store_unavailable',
  'store_full',
])

/** Not the row's fault, so it is retried. */
export const isPassing = (code: ErrorCode): boolean => passing.has(code)

/** The message without its remark on codes, which batches do not use. */
export const describeRow = (message: string): string =>
  message
    .replace(/ ?Nothing was used up(; [^.]*)?\.$/, '')
    .replace(/Nothing was used up: ([a-z])/, (_, first: string) => first.toUpperCase())
