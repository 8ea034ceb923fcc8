import type * as z from 'zod'
import { isJsonObject, type JsonObject } from '../../values/json.ts'
import type { EndpointSpec, Input } from '../contract/endpoint.ts'
import { issuesNamed, required } from '../contract/list.ts'
import { DomainError } from '../domain/errors.ts'
import { assertNoNul } from './nul.ts'

interface Raw {
  method: string
  params: unknown
  query: unknown
  body: unknown
}

/**
 * Validates a request against its endpoint.
 * @returns a promise only if the endpoint has a body of its own
 * @throws DomainError invalid_input that names every invalid field
 */
export function parseInput<S extends EndpointSpec>(spec: S, raw: Raw): Input<S> | Promise<Input<S>> {
  const given = raw.body === undefined || raw.body === null ? {} : raw.body
  if (!isJsonObject(given)) throw new DomainError('invalid_input', 'body must be a JSON object')
  const body = withoutEmpty(spec, given)
  const query = withoutEmpty(spec, isJsonObject(raw.query) ? raw.query : {})
  // Many clients cannot send a body with these methods, and some cannot send a query, so both may carry the
  // same fields.
  const fields = raw.method === 'GET' || raw.method === 'DELETE' ? { ...query, ...body } : undefined
  const parts = {
    params: check(spec, spec.params, raw.params),
    query: spec.isQueryRaw ? (fields ?? query) : check(spec, spec.query, fields ?? query),
  }
  const whole = (checked: unknown): Input<S> => {
    assertNoNul(raw.body)
    // Each part went through the schema from which the type is inferred.
    return { ...parts, body: checked } as Input<S>
  }
  return spec.body && !spec.stream ? checkBody(spec, spec.body, fields ?? body).then(whole) : whole({})
}

function withoutEmpty({ emptyIsAbsent = [] }: EndpointSpec, fields: JsonObject): JsonObject {
  const isEmpty = (name: string) => fields[name] === '' || fields[name] === null
  if (!emptyIsAbsent.some((name) => Object.hasOwn(fields, name) && isEmpty(name))) return fields
  return Object.fromEntries(
    Object.entries(fields).filter(([name]) => !(emptyIsAbsent.includes(name) && isEmpty(name))),
  )
}

const check = (spec: EndpointSpec, schema: z.ZodObject | undefined, value: unknown): unknown =>
  schema ? dataOf(spec, schema.safeParse(value, { error: required })) : {}

const checkBody = async (spec: EndpointSpec, schema: z.ZodType, value: unknown): Promise<unknown> =>
  dataOf(spec, await schema.safeParseAsync(value, { error: required }))

function dataOf(spec: EndpointSpec, parsed: z.ZodSafeParseResult<unknown>): unknown {
  if (parsed.success) return parsed.data
  const { issues } = parsed.error
  throw new DomainError(spec.namesFields ? 'invalid_metadata' : 'invalid_input', describeIssues(issues), {
    errors: errorsOf(issues),
  })
}

export const errorsOf = (issues: readonly z.core.$ZodIssue[]): Record<string, string> =>
  Object.fromEntries(
    issues
      .filter((issue) => moreOf(issue) === 0)
      .slice(0, issuesNamed)
      .map(({ path, message }) => [path.join('.'), message]),
  )

const moreOf = (issue: z.core.$ZodIssue): number =>
  issue.code === 'custom' && typeof issue.params?.more === 'number' ? issue.params.more : 0

const toldAtMost = 20

/** Lists problems with their paths: `tagUIDs.3 must be …; updates.redirectUrl Required`. */
export function describeIssues(issues: readonly z.core.$ZodIssue[]): string {
  const named = issues.filter((issue) => moreOf(issue) === 0)
  const told = named
    .slice(0, toldAtMost)
    .map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
  const more = named.length - told.length + issues.reduce((sum, issue) => sum + moreOf(issue), 0)
  return told.join('; ') + (more > 0 ? `; and ${more} more` : '')
}
