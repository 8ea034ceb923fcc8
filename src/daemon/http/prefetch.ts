import type { FastifyReply, FastifyRequest } from 'fastify'

// Sent by browsers that load a page before the user asked for it.
const marks = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const

export const isPrefetch = ({ headers }: FastifyRequest): boolean =>
  marks.some((mark) => /prefetch|preview|prerender/i.test(String(headers[mark] ?? '')))

/** A browser does not reuse a failed prefetch for the actual visit, so the tap is still valid then. */
export const refusePrefetch = (reply: FastifyReply): FastifyReply =>
  reply.code(503).header('retry-after', 0).header('cache-control', 'no-store').send()
