import { isHarmless } from '../../values/repeating.ts'
import { ApiError, DaemonUnreachable } from './errors.ts'

/** Status requests should report a failure immediately, so they are not retried. */
const statusRequests = new Set(['GET /admin/status', 'GET /admin/chains'])

const attempts = 4
const maxWaitMs = 10_000

const isReset = (error: unknown): boolean =>
  error instanceof DaemonUnreachable &&
  error.cause instanceof Error &&
  'code' in error.cause &&
  (error.cause.code === 'ECONNRESET' || error.cause.code === 'EPIPE')

/** @returns the delay before the next attempt in milliseconds; undefined to give up */
export const waitBefore = (
  next: number,
  key: string,
  error: unknown,
  {
    random,
    mayRepeat,
  }: {
    random: () => number
    /** It has an Idempotency-Key: a repetition gets the first answer. */
    mayRepeat: boolean
  },
): number | undefined => {
  // A request refused by the rate limit changed nothing.
  const isRefused = error instanceof ApiError && error.statusCode === 429
  if (next > attempts || !(mayRepeat || isRefused || key.startsWith('GET '))) return undefined
  // Full jitter, so that a hundred scripts that were refused together do not come back together.
  const backoff = 50 + random() * Math.min(2000, 100 * 2 ** next)
  // The answer to whatever works once may be gone with it.
  if (error instanceof ApiError && error.code === 'outcome_unknown' && !mayRepeat && !isHarmless(key))
    return undefined
  if (error instanceof ApiError && (isRefused || error.statusCode === 503)) {
    if (!isRefused && statusRequests.has(key)) return undefined
    if (error.retryAfter === undefined) return backoff
    const asked = error.retryAfter * 1000
    return asked > maxWaitMs ? undefined : asked + random() * 100
  }
  return isReset(error) && (mayRepeat || isHarmless(key)) ? backoff : undefined
}
