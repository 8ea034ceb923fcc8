import type { FastifyInstance } from 'fastify'
import { excessOf } from '../../values/json-bounds.ts'
import { Slice } from '../../values/slices.ts'
import { DomainError, invalid } from '../domain/errors.ts'

// No list of UIDs is as long. What is longer is looked at only to say what is too much of it.
const longestJson = 4 * 1024 * 1024
const longToParse = 64 * 1024

/** JSON bodies, with two allowances that deployed clients need: empty ones, and any type on no body at all. */
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
  // Parsing cannot be cut into slices: of several that came together each gets a turn of its own.
  if (body.length > longToParse) await new Slice().next()
}

/** Bodies that the handler reads itself, whatever they call themselves. */
export function acceptStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
}
