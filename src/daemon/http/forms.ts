import type { FastifyInstance } from 'fastify'
import { DomainError, invalid } from '../domain/errors/errors.ts'
import { nulProblem } from './parse-input.ts'

/** Accepts forms as browsers send them, and nothing else. Repeated fields: the first counts. */
export function acceptForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) =>
      body.includes('%00') || body.includes('\0')
        ? done(invalid('body', nulProblem))
        : done(null, new URLSearchParams(body)),
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
