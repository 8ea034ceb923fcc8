import type { FastifyInstance } from 'fastify'
import { DomainError } from '../domain/errors.ts'

const marks = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'cf-connecting-ip',
  'true-client-ip',
]

/**
 * Keeps what is the operator's own from answering through a proxy, where a public host name may point at it by
 * mistake. @throws DomainError forwarded_refused, in a hook of the scope
 */
export function refuseForwarded(app: FastifyInstance, config: { adminRemote: boolean }): void {
  if (config.adminRemote) return
  app.addHook('onRequest', async (request) => {
    if (!marks.some((mark) => request.headers[mark] !== undefined)) return
    throw new DomainError(
      'forwarded_refused',
      'This path answers direct requests only, and this one came through a proxy. Ask the daemon itself, or set TAPCHIP_ADMIN_REMOTE=on if that is what you want.',
    )
  })
}
