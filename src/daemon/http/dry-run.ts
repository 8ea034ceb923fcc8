import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { dryRunPrefix } from '../../values/repeating.ts'
import type { EndpointSpec } from '../contract/endpoint.ts'
import { dryRun } from '../domain/dry-run/dry-run.ts'
import { DomainError } from '../domain/errors/errors.ts'

const dryRuns = new WeakSet<IncomingMessage>()

/** `/dry-run/…` runs the rest of the path without changing anything. A daemon without this feature answers 404. */
export function takeDryRunPrefix(request: IncomingMessage): string {
  const { url = '/' } = request
  if (!url.startsWith(`${dryRunPrefix}/`)) return url
  dryRuns.add(request)
  return url.slice(dryRunPrefix.length)
}

export const isDryRun = ({ raw }: FastifyRequest): boolean => dryRuns.has(raw)

/**
 * Must come after the rate limits, so that refusals count. Pages and their forms are excluded, because they would
 * really act.
 */
export function refuseOtherDryRuns(app: FastifyInstance): void {
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (isDryRun(request) && !request.is404 && request.routeOptions.config.hasDryRun !== true)
      reply.callNotFound()
    else done()
  })
}

/** @throws what the endpoint would throw */
export async function answerDryRun(
  { dryRun: depth, answerType }: EndpointSpec,
  { method }: FastifyRequest,
  reply: FastifyReply,
  serve: () => Promise<unknown>,
): Promise<FastifyReply> {
  if (method === 'GET' || method === 'HEAD')
    throw new DomainError('invalid_input', `A GET has no dry run: leave out ${dryRunPrefix}.`)
  // Streamed answers write between their lines, so they cannot be rolled back.
  const checked = depth ?? (answerType === undefined ? 'all' : 'input')
  if (checked === 'all') await dryRun(serve)
  return reply.send({ dryRun: true, checked })
}
