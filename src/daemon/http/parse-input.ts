import type * as z from 'zod'
import type { EndpointSpec, Input } from '../contract/endpoint.ts'
import { DomainError } from '../domain/errors.ts'

interface Raw {
  method: string
  params: unknown
  query: unknown
  body: unknown
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Validates a request against its endpoint. @throws DomainError invalid_input that names every field */
export function parseInput<S extends EndpointSpec>(spec: S, raw: Raw): Input<S> {
  const body = raw.body === undefined || raw.body === null ? {} : raw.body
  if (!isObject(body)) throw new DomainError('invalid_input', 'body must be a JSON object')
  const query = isObject(raw.query) ? raw.query : {}
  // Many clients cannot send a body with these, and some cannot send a query: both carry the same fields.
  const fields = raw.method === 'GET' || raw.method === 'DELETE' ? { ...query, ...body } : undefined
  const parsed = {
    params: check(spec, spec.params, raw.params),
    query: spec.isQueryRaw ? (fields ?? query) : check(spec, spec.query, fields ?? query),
    body: spec.stream ? {} : check(spec, spec.body, fields ?? body),
  }
  // Each part went through the schema that the type is inferred from.
  return parsed as Input<S>
}

function check(spec: EndpointSpec, schema: z.ZodObject | undefined, value: unknown): unknown {
  if (!schema) return {}
  const parsed = schema.safeParse(value, { error: required })
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  const errors = Object.fromEntries(issues.map(({ path, message }) => [path.join('.'), message]))
  throw new DomainError(spec.namesFields ? 'invalid_metadata' : 'invalid_input', describeIssues(issues), {
    errors,
  })
}

/** Names what is missing as the interface does. */
const required: z.core.$ZodErrorMap = (issue) =>
  issue.input === undefined && issue.code !== 'custom' ? 'Required' : undefined

const namedAtMost = 20

/** `tagUIDs.3 must be …; updates.redirectUrl Required`: what is wrong, and where. */
export function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const named = issues
    .slice(0, namedAtMost)
    .map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
  const more = issues.length - named.length
  return named.join('; ') + (more > 0 ? `; and ${more} more` : '')
}
