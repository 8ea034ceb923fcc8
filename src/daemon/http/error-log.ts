import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { DomainError, whyLost } from '../domain/errors/errors.ts'
import type { Clock } from '../domain/time/time.ts'
import { isAnonymous } from './auth.ts'
import type { answerTo } from './errors.ts'
import { TokenBucket } from './token-bucket.ts'

/** Lines per minute about refused requests of strangers, and as many of callers with a key. */
const refusalsPerMinute = 1200

type Answer = Pick<ReturnType<typeof answerTo>, 'body' | 'isOurs'>

/**
 * Logs each answer that is an error by its request id, whatever the log level, so that an id that somebody reports is
 * found. The route stands for the URL, which contains codes and taps.
 */
export function errorLog(
  log: Logger,
  clock: Pick<Clock, 'monotonic'>,
): (request: FastifyRequest, error: unknown, answer: Answer) => void {
  const always = log.level === 'silent' ? log : log.child({}, { level: 'info' })
  const bucket = new TokenBucket(clock, refusalsPerMinute)
  let unlisted = 0
  return (request, error, { body: { statusCode: status, code }, isOurs }) => {
    const { id: requestId, method, routeOptions } = request
    const fields = { requestId, method, route: routeOptions?.url ?? 'none', status, code }
    const why = whyLost(error)
    // A probe that receives "not ready" got what it asked for.
    const isProbe = error instanceof DomainError && routeOptions?.url === '/readyz'
    if (isOurs && why === undefined && !isProbe)
      return always.error({ ...fields, err: error }, 'request failed')
    if (bucket.spend(isAnonymous(request) ? 'stranger' : 'known') !== undefined) {
      unlisted += 1
      return
    }
    const message = isOurs && !isProbe ? 'request failed' : 'request refused'
    always.info({ ...fields, why, ...(unlisted === 0 ? {} : { unlisted }) }, message)
    unlisted = 0
  }
}
