import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DomainError } from '../domain/errors.ts'
import { answerTo } from './errors.ts'
import { rawAnswer } from './raw-answer.ts'

const usualBody = 1024 * 1024
const looks = 3
/** Between two looks, of a body that is long but no stream: less comes over no line that people work on. */
const leastBytes = 4096

/**
 * Ends a request whose body is not all there in time. What may be long, such as a sheet of a million rows, has to go
 * on coming instead, a stream at any pace; whatever was answered already has no more time than the others.
 */
export function endSlowBodies(app: FastifyInstance, ms: number): void {
  // Before anybody is known: also a body that is never read keeps its connection busy.
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request
    if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)
      watch(request, reply, ms)
    done()
  })
}

function watch(request: FastifyRequest, reply: FastifyReply, ms: number): void {
  const { raw, routeOptions } = request
  const isStream = routeOptions.config.isLong === true
  const mayBeLong = isStream || (routeOptions.bodyLimit ?? 0) > usualBody
  const least = isStream ? 1 : leastBytes
  let seen = raw.socket.bytesRead
  let lacking = 0
  const timer = setInterval(() => {
    if (raw.complete) {
      clearInterval(timer)
      return
    }
    // What has come and waits to be read is not the sender's delay.
    const hasMoved = raw.socket.bytesRead >= seen + least || raw.readableLength > 0
    seen = raw.socket.bytesRead
    lacking = mayBeLong && hasMoved && !reply.raw.writableEnded ? 0 : lacking + 1
    if (lacking < looks) return
    clearInterval(timer)
    const error = new DomainError(
      'too_slow',
      `The body did not come within ${Math.ceil(ms / 1000)} seconds. Check the connection, and send it again.`,
    )
    if (!reply.raw.headersSent) raw.socket.write(rawAnswer(answerTo(error, request.id).body))
    raw.destroy(error)
  }, ms / looks).unref()
  raw.once('close', () => clearInterval(timer))
}
