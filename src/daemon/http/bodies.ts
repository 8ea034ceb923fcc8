import type { FastifyInstance } from 'fastify'
import { DomainError } from '../domain/errors.ts'

/** JSON bodies, with two allowances that deployed clients need: empty ones, and any type on no body at all. */
export function acceptBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) => {
    // Browsers send the content type with an empty body on GET and DELETE.
    if (text.length === 0 || String(text).trim() === '') done(null, undefined)
    else parseJson(request, String(text), done)
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

/** Bodies that the handler reads itself, whatever they call themselves. */
export function acceptStreams(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
}
