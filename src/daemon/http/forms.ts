import type { FastifyInstance } from 'fastify'
import { DomainError } from '../domain/errors.ts'

/** Accepts forms as browsers send them, and nothing else. Repeated fields: the first counts. */
export function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, new URLSearchParams(body)),
  )
  app.addContentTypeParser('*', (_request, _payload, done) =>
    done(
      new DomainError(
        'unsupported_media_type',
        'This address takes forms. Send application/x-www-form-urlencoded.',
      ),
    ),
  )
}
