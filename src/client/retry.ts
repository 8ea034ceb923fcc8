import { TapchipError } from './error.ts'

const maxWaitMs = 10_000

/** May a request be sent again after that? */
export interface Repeatable {
  /** A GET that uses nothing up, or a request with an Idempotency-Key: sent twice, it takes effect once. */
  readonly always: boolean
  readonly isGet: boolean
}

/** @param attempt from 1 @returns milliseconds to wait; undefined to give up */
export function waitAfter(
  error: unknown,
  attempt: number,
  { always, isGet }: Repeatable,
  random = Math.random,
): number | undefined {
  if (!(error instanceof TapchipError)) return undefined
  const { status, code, retryAfter } = error
  const isOurs = code !== 'not_tapchip'
  // Refused by the daemon itself, which then has used nothing up.
  const isUnknown = code === 'outcome_unknown' && !always
  const isUntouched = isOurs && !isUnknown && (status === 429 || (status === 503 && (isGet || always)))
  const isLost = code === 'unreachable' || (!isOurs && [429, 502, 503, 504].includes(status))
  if (!isUntouched && !(always && isLost)) return undefined
  // Full jitter: pages that were refused together do not come back together.
  const backoff = 50 + random() * Math.min(2000, 100 * 2 ** attempt)
  if (retryAfter === undefined) return backoff
  return retryAfter * 1000 > maxWaitMs ? undefined : Math.max(0, retryAfter * 1000) + random() * 100
}

/** @throws the signal's reason */
export const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
