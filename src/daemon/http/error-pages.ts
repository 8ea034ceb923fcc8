import type { FastifyReply, FastifyRequest } from 'fastify'

interface Failed {
  /** Of HTTP. */
  status: number
  code: string
  retryAfterSeconds: number | undefined
}

/** Errors as pages, where people rather than programs are at the other end. */
export interface ErrorPages {
  /** @returns false if the caller gets JSON as everywhere else */
  send(request: FastifyRequest, reply: FastifyReply, failed: Failed): boolean
  /**
   * For input that never became a request.
   * @param start of what arrived @returns undefined: JSON
   */
  raw(start: string, failed: Failed): { headers: Record<string, string>; body: string } | undefined
}
