import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { required } from '../../src/daemon/contract/list.ts'
import { DomainError } from '../../src/daemon/domain/errors/errors.ts'
import { describeIssues, inputParser } from '../../src/daemon/http/parse-input.ts'
import { table } from '../support/hostile-requests.ts'

const reads = table.filter(
  ({ method, spec }) => method === 'GET' && !spec.body && !spec.isQueryRaw && !spec.emptyIsAbsent,
)

const value = fc.oneof(
  fc.constantFrom('', '0', 'true', '12', 'a b', 'V1StGXR8_Z5jdHi6B-myT', '__proto__'),
  fc.string(),
  fc.array(fc.string(), { maxLength: 2 }),
)

/** Some of the schema's fields, and others. */
const fieldsOf = (schema: z.ZodObject | undefined) =>
  fc.dictionary(
    fc.constantFrom(...Object.keys(schema?.shape ?? {}), 'unknown', 'toString', '__proto__'),
    value,
    { noNullPrototype: false },
  )

test.each(reads)('what $key makes of a request is what its schema says', async ({ method, spec }) => {
  const parse = inputParser(spec)
  const byParser = async (given: { params: unknown; query: unknown }) => {
    try {
      const { params, query } = await parse({ method, ...given, body: undefined })
      return { params, query }
    } catch (error) {
      if (error instanceof DomainError) return error.message
      throw error
    }
  }
  await fc.assert(
    fc.asyncProperty(fieldsOf(spec.params?.()), fieldsOf(spec.query?.()), async (params, query) => {
      const bySchema = (schema: z.ZodObject | undefined, fields: unknown) =>
        schema?.safeParse(fields, { error: required }) ?? { success: true as const, data: {} }
      const parts = { params: bySchema(spec.params?.(), params), query: bySchema(spec.query?.(), query) }
      const expected = !parts.params.success
        ? describeIssues(parts.params.error.issues)
        : !parts.query.success
          ? describeIssues(parts.query.error.issues)
          : { params: parts.params.data, query: parts.query.data }
      expect(await byParser({ params, query })).toEqual(expected)
    }),
    { numRuns: 60 },
  )
})

test('the schemas of an endpoint are made at its first request, and once', async () => {
  let made = 0
  const make = () => {
    made += 1
    return z.object({ id: z.string().min(1) })
  }
  const parse = inputParser({
    ...{ id: 'one', summary: '', auth: 'none', scope: 'read', part: 'public', response: make },
    ...{ params: make, query: make, body: make },
  })
  expect(made).toBe(0)
  const fields = { id: 'a' }
  for (let times = 0; times < 2; times++)
    expect(await parse({ method: 'POST', params: fields, query: fields, body: fields })).toEqual({
      ...{ params: fields, query: fields, body: fields },
    })
  expect(made).toBe(3)
})
