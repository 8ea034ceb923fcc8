import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { list, shortList } from '../../src/daemon/contract/list.ts'
import { metadataRow, moveRow } from '../../src/daemon/contract/phygital-batches.ts'
import { excessOf } from '../../src/values/json-bounds.ts'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { acmeKey, seed, uids } from '../support/seeds.ts'

/** Every array in a schema, with the path to it, and whether it stands in the elements of another. */
function* arraysIn(schema: unknown, path: string): Generator<{ path: string; max: number | undefined }> {
  if (!(schema instanceof z.ZodType)) return
  const described = schema.meta()
  if (described?.type === 'array') yield { path, max: Number(described.maxItems) }
  else if (schema instanceof z.ZodArray) yield { path, max: undefined }
  for (const [name, inner] of Object.entries(schema.def)) {
    if (name === 'shape') {
      for (const [field, one] of Object.entries(Object(inner))) yield* arraysIn(one, `${path}.${field}`)
    } else if (Array.isArray(inner)) {
      for (const one of inner) yield* arraysIn(one, path)
    } else yield* arraysIn(inner, path)
  }
}

const inputs = Object.entries<EndpointSpec>(endpoints).flatMap(([key, { params, query, body }]) =>
  Object.entries({ params, query, body }).map(([part, make]) => ({ of: `${key} ${part}`, schema: make?.() })),
)
const rows = Object.entries({ metadataRow, moveRow }).map(([of, schema]) => ({ of, schema }))
const arrays = [...inputs, ...rows].flatMap(({ of, schema }) => [...arraysIn(schema, of)])

describe('arrays', () => {
  test('of the whole endpoint table have a cap: 10,000, of UIDs 100,000', () => {
    expect(arrays.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['PATCH /chips body.tagUIDs', 'POST /admin/items body.variants']),
    )
    const wrong = arrays.filter(
      ({ path, max = Infinity }) => max > (/\.(tagUIDs|uids)$/.test(path) ? 100_000 : 10_000),
    )
    expect(wrong).toEqual([])
  })

  test.each([
    ['list', list(z.string())],
    ['shortList', shortList(z.string())],
  ])('too long ones are refused without an element being looked at: %s', async (_name, schema) => {
    const untouchable = new Proxy(Array(100_000), {
      get: (target, key) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) throw new Error(`element ${key} was looked at`)
        return Reflect.get(target, key)
      },
    })
    const parsed = await schema.safeParseAsync(untouchable)
    expect(parsed.error?.issues.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^must have at most 10?000? elements, but has 100000$/),
    ])
  })

  test('whose elements do not fit have a hundred named and the rest counted', async () => {
    const parsed = await list(z.object({ a: z.string() })).safeParseAsync(Array(10_000).fill({}))
    expect(parsed.error?.issues).toHaveLength(101)
    expect(parsed.error?.issues[0]).toMatchObject({ path: [0, 'a'], message: 'Required' })
    expect(parsed.error?.issues[100]).toMatchObject({ path: [], params: { more: 9900 } })
  })

  test('that are long leave others their turns', async () => {
    let turns = 0
    let isOver = false
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const slow = z.string().refine((text) => {
      const end = performance.now() + 1
      while (performance.now() < end);
      return text.length > 0
    })
    await list(slow).parseAsync(Array(100).fill('x'))
    isOver = true
    // A hundred milliseconds of work.
    expect(turns).toBeGreaterThan(8)
  })
})

describe('JSON that takes long to parse is refused unparsed', () => {
  const excess = (text: string) => excessOf(Buffer.from(text))

  test('too many values, members or levels, and the field is named', async () => {
    expect(await excess(`{"a":1,"list":[${'{},'.repeat(200_000)}`)).toEqual({
      field: 'list',
      reason: expect.stringContaining('110000 values'),
    })
    expect(await excess(`{"a":{"b":0},"c":[${'{"d":0},'.repeat(40_000)}`)).toEqual({
      field: 'c',
      reason: expect.stringContaining('21000 members'),
    })
    const shapes = Array.from({ length: 1001 }, (_, at) => `{"k${at}":0}`)
    expect(await excess(`{"e":[${shapes.join()}]}`)).toEqual({
      field: 'e',
      reason: expect.stringContaining('1000 different names'),
    })
    expect(await excess('['.repeat(65))).toEqual({
      field: undefined,
      reason: expect.stringContaining('64 levels'),
    })
    expect(await excess('['.repeat(64))).toBeUndefined()
  })

  test('what stands in texts is no structure, wherever a quote is escaped', async () => {
    const texts = ['[{,:'.repeat(100_000), '"[[', '\\', '\\"[', '\\\\"{'.repeat(100)]
    expect(await excess(JSON.stringify(texts))).toBeUndefined()
    expect(await excess(`${JSON.stringify(texts).slice(0, -1)},${'['.repeat(65)}`)).toBeDefined()
  })

  test('a hundred thousand UIDs and ten thousand attributes are not too much', async () => {
    expect(
      await excess(JSON.stringify({ tagUIDs: Array(100_000).fill('04:98:93:CA:AA:11:90') })),
    ).toBeUndefined()
    const attribute = { trait_type: 'a', value: 'b' }
    expect(await excess(JSON.stringify({ attributes: Array(10_000).fill(attribute) }))).toBeUndefined()
  })
})

describe('one key cannot', () => {
  let t: TestApp
  beforeAll(async () => {
    t = await openTestApp({ seed })
  })
  afterAll(() => t.close())

  const send = (method: 'POST' | 'PATCH', url: string, payload: string) =>
    t.app.inject({
      method,
      url,
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' },
      payload,
    })
  const event = (metadata: unknown) => JSON.stringify({ name: 'E', tokenId: '1', contractId: 1, metadata })
  const withAttributes = (attributes: unknown) => ({
    name: '',
    collection: '',
    description: '',
    image: '',
    attributes,
  })

  test.each([
    ['as an object', (metadata: object) => metadata],
    ['as its text', (metadata: object) => JSON.stringify(metadata)],
  ])('have 490,000 attributes looked at, or told about: metadata %s', async (_name, form) => {
    const answer = await send('POST', '/events', event(form(withAttributes(Array(490_000).fill(0)))))
    expect(answer.statusCode).toBe(400)
    expect(answer.json().message).toMatch(/attributes|metadata/)
    expect(answer.body.length).toBeLessThan(1000)
  })

  test('have ten thousand errors listed', async () => {
    const answer = await send(
      'POST',
      '/events',
      event(JSON.stringify(withAttributes(Array(10_000).fill({})))),
    )
    const { message, errors } = answer.json()
    expect(Object.keys(errors)).toHaveLength(100)
    expect(errors['metadata.attributes.0.trait_type']).toBe('Required')
    expect(message).toMatch(/; and \d+ more$/)
    expect(answer.body.length).toBeLessThan(20_000)
  })

  test('send a million UIDs, or one more than a hundred thousand', async () => {
    const uid = (at: number) => String(1_260_000_000_000_000 + at)
    for (const count of [100_001, 1_000_000]) {
      const tagUIDs = Array.from({ length: count }, (_, at) => uid(at))
      const answer = await send(
        'PATCH',
        '/chips',
        JSON.stringify({ tagUIDs, updates: { redirectUrl: null } }),
      )
      expect([answer.statusCode, answer.json().message]).toEqual([400, expect.stringMatching(/^tagUIDs/)])
    }
    const tagUIDs = Array.from({ length: 100_000 }, (_, at) => uid(at))
    const answer = await send('PATCH', '/chips', JSON.stringify({ tagUIDs, updates: { redirectUrl: null } }))
    expect([answer.statusCode, answer.json().message]).toEqual([
      404,
      expect.stringMatching(/ and 99980 more/),
    ])
  })

  test('have more than a hundred bad rows of a batch named, nor looked at without end', async () => {
    const answer = await send('POST', '/chips/batch', '{"uid":1}\n'.repeat(5000))
    expect(answer.statusCode).toBe(400)
    expect(answer.json().message).toMatch(/row 100: .*; and 4900 more$/)
    expect(answer.json().message).not.toContain('row 101')
    const endless = await send('POST', '/chips/batch', '{"uid":1}\n'.repeat(50_000))
    expect(endless.json().message).toMatch(/; and at least 9900 more$/)
  })

  test('make a body that is one long text cost more than its bytes', async () => {
    const answer = await send(
      'PATCH',
      '/chips',
      JSON.stringify({ tagUIDs: ['x'.repeat(5_000_000)], updates: {} }),
    )
    expect(answer.statusCode).toBe(413)
  })

  test('and what fits is taken as ever', async () => {
    const tagUIDs = Array(100_000).fill(uids.blank)
    const answer = await send('PATCH', '/chips', JSON.stringify({ tagUIDs, updates: { redirectUrl: null } }))
    expect(answer.json()).toEqual({ success: true })
  })
})
