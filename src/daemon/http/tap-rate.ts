import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { tapState } from '../domain/taps/verify-tap.ts'
import type { Clock } from '../domain/time/time.ts'
import { network } from './auth.ts'
import { TokenBucket } from './token-bucket.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Takes the tap that its query carries. Taps that prove real do not count against the caller's address. */
    takesTap?: boolean
    /** Whatever else proves that the request comes from a tap, such as a page that is loaded again. */
    provesTap?: (request: FastifyRequest) => Promise<boolean>
  }
  interface FastifyRequest {
    /** Set by the handler once a chip is known to have made the tap just now. */
    isProven: boolean
  }
}

export type TapRateDeps = Parameters<typeof tapState>[0] & {
  clock: Clock
  config: Pick<Config, 'rateLimit'>
}

/** So many times its limit of taps are still verified for an address that has spent it. */
const verifiedBeyond = 10

/**
 * The limit of strangers for routes that take taps. A hall of people behind one address must not share it, so only
 * failures count: each request pays on arrival, and gets it back once its tap has proven real. An address that has spent
 * its limit on failures is answered only after its tap was verified, which is cheap and writes nothing. These
 * verifications have a limit of their own, which real taps do not use up either.
 * @param strangers undefined: there is no limit
 * @returns a function that returns the refusal, or nothing: a promise of it where the tap must be verified
 */
export function chargeTaps(app: FastifyInstance, deps: TapRateDeps, strangers: TokenBucket | undefined) {
  const { clock, config } = deps
  const beyond =
    config.rateLimit === undefined ? undefined : new TokenBucket(clock, config.rateLimit * verifiedBeyond)
  const paid = new WeakMap<FastifyRequest, TokenBucket>()

  app.decorateRequest('isProven', false)
  if (!strangers || !beyond) return () => undefined
  app.addHook('onResponse', (request, _reply, done) => {
    if (request.isProven) paid.get(request)?.refund(network(request.ip))
    done()
  })

  return (
    request: FastifyRequest,
    spend: (request: FastifyRequest) => DomainError | undefined,
  ): DomainError | undefined | Promise<DomainError | undefined> => {
    const refusal = spend(request)
    if (!refusal) {
      paid.set(request, strangers)
      return undefined
    }
    const wait = beyond.spend(network(request.ip))
    if (wait !== undefined) return new DomainError(refusal.code, refusal.message, { retryAfterSeconds: wait })
    paid.set(request, beyond)
    return isReal(deps, request).then((real) => (real ? undefined : refusal))
  }
}

async function isReal(deps: TapRateDeps, request: FastifyRequest): Promise<boolean> {
  const state = await tapState(deps, request.query as Record<string, unknown>)
  if (state === 'fresh' || state === 'caught-up') return true
  return (await request.routeOptions.config.provesTap?.(request)) ?? false
}
