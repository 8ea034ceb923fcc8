import type { FastifyInstance } from 'fastify'
import { DomainError, invalid } from '../domain/errors/errors.ts'

// PostgreSQL keeps no text with U+0000. It is refused on every engine, so that a database can be copied to another.

/** Can follow a field's name. */
export const nulProblem = 'must not hold the character U+0000'

/** Behind an even number of backslashes it is an escape, behind an odd one text. */
const escaped = /(?<!\\)(?:\\\\)*\\u0000/

/** @param json unparsed, where only an escape can stand for the character */
export const holdsNul = (json: string): boolean => json.includes('\\u0000') && escaped.test(json)

const holders = new WeakSet<object>()

/** @param value what the text was parsed to, for `assertNoNul` */
export function noteNul(json: string, value: unknown): void {
  if (typeof value === 'object' && value !== null && holdsNul(json)) holders.add(value)
}

/** Comes after the schema, which names the field where it refuses the character itself. @throws DomainError invalid_input */
export function assertNoNul(body: unknown): void {
  if (typeof body === 'object' && body !== null && holders.has(body)) throw invalid('body', nulProblem)
}

/** Answers for paths and queries. */
export function refuseNulInUrls(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) =>
    request.raw.url?.includes('%00')
      ? done(new DomainError('invalid_input', `The address ${nulProblem} (%00).`))
      : done(),
  )
}
