import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { excessOf } from '../../values/json-bounds.ts'
import { Slice } from '../../values/slices.ts'
import { DomainError, invalid } from '../domain/errors.ts'
import { answerTo, rawAnswer } from './errors.ts'

// No list of UIDs is this long. The start of a longer body is only read to explain the excess.
const longestJson = 4 * 1024 * 1024
const longToParse = 64 * 1024

/**
 * Accepts JSON bodies, with two exceptions for existing clients: empty bodies, and any content type without a
 * body.
 */
export function acceptBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    assertBounded(body).then(
      () => {
        const text = body.toString()
        // Browsers send the content type with an empty body on GET and DELETE.
        if (text.trim() === '') done(null, undefined)
        else void parseJson(request, text, done)
      },
      (error: DomainError) => done(error),
    )
  })
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, text, done) => {
    if (text.length === 0) done(null, undefined)
    else
      done(
        new DomainError(
          'unsupported_media_type',
          'This endpoint takes JSON. Send content-type: application/json.',
        ),
      )
  })
}

/** @throws DomainError invalid_input, too_large */
async function assertBounded(body: Buffer): Promise<void> {
  const excess = await excessOf(body.subarray(0, longestJson))
  if (excess) throw invalid(excess.field ?? 'body', excess.reason)
  if (body.length > longestJson)
    throw new DomainError('too_large', `The body is over ${longestJson} bytes. Send it in smaller parts.`)
  // Parsing cannot be sliced, so each of several concurrent large bodies gets its own turn.
  if (body.length > longToParse) await new Slice().next()
}

export function acceptStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
}

const usualBody = 1024 * 1024
const looks = 3
/** Per check, for a long body that is not a stream: no usable connection is slower. */
const leastBytes = 4096

/**
 * Ends a request whose body is not complete in time. A long body, such as a sheet with a million rows, must
 * only keep arriving, a stream at any pace; once the request is answered, the usual limit applies.
 */
export function endSlowBodies(app: FastifyInstance, ms: number): void {
  // Before authentication, because a body that is never read also keeps its connection busy.
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
    // Data that arrived but was not read yet is not the sender's delay.
    const hasMoved = raw.socket.bytesRead >= seen + least || raw.readableLength > 0
    seen = raw.socket.bytesRead
    lacking = mayBeLong && hasMoved && !reply.raw.writableEnded ? 0 : lacking + 1
    if (lacking < looks) return
    clearInterval(timer)
    const error = new DomainError(
      'too_slow',
      `The body did not arrive within ${Math.ceil(ms / 1000)} seconds. Check the connection, and send it again.`,
    )
    if (!reply.raw.headersSent) raw.socket.write(rawAnswer(answerTo(error, request.id).body))
    raw.destroy(error)
  }, ms / looks).unref()
  raw.once('close', () => clearInterval(timer))
}
