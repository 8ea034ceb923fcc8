import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { DomainError } from '../domain/errors.ts'
import type { AuthDeps } from './auth.ts'
import { clientKey } from './client-key.ts'

/**
 * Bounds what a stranger can call: what needs no key, what is not there, and what was refused for its key; all of
 * it together, by client. A valid key is counted by itself.
 * @param max requests a minute; undefined: no limit
 */
export async function limitRates(
  app: FastifyInstance,
  deps: AuthDeps,
  max: number | undefined,
): Promise<void> {
  if (max === undefined) return
  await app.register(rateLimit, { global: false, cache: 20_000 })
  const count = app.createRateLimit({
    max,
    timeWindow: 60_000,
    keyGenerator: (request) => clientKey(deps, request),
  })
  const assertWithin = async (request: FastifyRequest): Promise<void> => {
    const result = await count(request)
    if (result.isAllowed || !result.isExceeded) return
    throw new DomainError(
      'rate_limited',
      `Too many requests: ${max} a minute are served without a key. Wait, or send an API key.`,
      { retryAfterSeconds: Math.max(1, result.ttlInSeconds) },
    )
  }
  // After every onRequest, so that CORS is answered and a browser's client can read the refusal; before the body.
  app.addHook('preParsing', async (request) => {
    if (request.is404 || request.routeOptions.config.isLimited) await assertWithin(request)
  })
  // Guessing at keys counts like everything else that a stranger does.
  app.addHook('onError', async (request, _reply, error) => {
    if (isRefusedKey(error)) await count(request)
  })
}

const isRefusedKey = (error: Error): boolean =>
  error instanceof DomainError && /^(api_key|admin_token)_/.test(error.code)
