import fc from 'fast-check'
import * as z from 'zod'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'

// Requests that nobody in good faith would send, made from the endpoint table: an endpoint to come is attacked on the
// day that it is added.

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
export interface Target {
  key: string
  method: Method
  path: string
  spec: EndpointSpec
}

export const table: Target[] = Object.entries<EndpointSpec>(endpoints).map(([key, spec]) => {
  const [method = '', path = ''] = key.split(' ')
  return { key, method: method as Method, path, spec }
})

export interface HostileRequest {
  method: Method
  url: string
  headers: Record<string, string>
  payload: string | Buffer
}

/** Values that exist, by the name of a field: behind them lies what nonsense never reaches. */
export type Known = Readonly<Record<string, readonly unknown[]>>

// `unit: 'binary'` makes a table of a million characters first.
const unit = fc.nat(0x10ffff - 0x800).map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800))
const nasty = fc.oneof(
  fc.string({ unit, maxLength: 40 }),
  fc.constantFrom(
    '\0',
    'a\0b',
    '\ud800',
    '__proto__',
    'constructor',
    'javascript:alert(1)',
    '0x',
    '-1',
    '1e308',
    'NaN',
    '1e400',
    `'; drop table chips; --`,
    '../../etc/passwd',
    '9'.repeat(400),
    '049893CAAA1190',
    '%00',
    '🏔',
    '0000-00-00T00:00:00Z',
    '+275760-09-13T00:00:00.001Z',
  ),
  fc.integer(),
  fc.double(),
  fc.constantFrom(2 ** 53, -(2 ** 53), 2 ** 31, -0, 1e308),
  fc.boolean(),
  fc.constant(null),
)

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let value: unknown = 1
  for (let n = 0; n < levels; n += 1) value = wrap(value)
  return value
}

const value = fc.oneof(
  { weight: 6, arbitrary: nasty },
  { weight: 2, arbitrary: fc.array(nasty, { maxLength: 4 }) },
  { weight: 2, arbitrary: fc.dictionary(fc.string({ maxLength: 8 }), nasty, { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      [[[[]]]],
      { a: { b: { c: {} } } },
      nested(500, (inner) => [inner]),
      nested(500, (a) => ({ a })),
    ),
  },
)

/** Large ones are given as text, which is made once: they are many bytes and few ideas. */
const large = fc
  .tuple(
    fc.constantFrom('0', '""', '{}', '[]', '"04DE5F1EACC040"', '"\\u0000"', '{"a":1}', 'null'),
    fc.constantFrom(1000, 20_000, 120_000),
  )
  .map(([one, count]) => `[${`${one},`.repeat(count)}${one}]`)
  // Also within metadata, as an object and in its text.
  .chain((list) => fc.constantFrom(list, `{"attributes":${list}}`, JSON.stringify(`{"attributes":${list}}`)))
const long = fc.constantFrom(100_000, 900_000).map((length) => JSON.stringify('x'.repeat(length)))
const deepText = fc
  .constantFrom(5000, 200_000)
  .chain((levels) =>
    fc.constantFrom(
      '['.repeat(levels) + ']'.repeat(levels),
      `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`,
      '['.repeat(levels),
    ),
  )

type Shape = z.core.JSONSchema.BaseSchema
const isShape = (value: unknown): value is Shape => typeof value === 'object' && value !== null
const shapeOf = (schema: z.core.$ZodType): Shape =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })

/** Mostly what the field wants, or what exists; at times anything at all. */
function fieldOf(name: string, shape: Shape, known: Known): fc.Arbitrary<unknown> {
  const pool = known[name]
  const fitting = pool === undefined ? fittingOf(name, shape, known) : fc.constantFrom(...pool)
  return fc.oneof({ weight: 10, arbitrary: fitting }, { weight: 1, arbitrary: value })
}

function fittingOf(name: string, shape: Shape, known: Known): fc.Arbitrary<unknown> {
  if (shape.enum !== undefined) return fc.constantFrom(...shape.enum)
  if (shape.const !== undefined) return fc.constant(shape.const)
  const either = [...(shape.anyOf ?? []), ...(shape.oneOf ?? []), ...(shape.allOf ?? [])].filter(isShape)
  if (either.length > 0) return fc.oneof(...either.map((one) => fittingOf(name, one, known)))
  switch (shape.type) {
    case 'object':
      return objectOf(shape, known)
    case 'array':
      return fc.array(isShape(shape.items) ? fieldOf(name, shape.items, known) : value, { maxLength: 5 })
    case 'integer':
    case 'number':
      return fc.oneof(fc.nat({ max: 20 }), fc.integer(), fc.double())
    case 'boolean':
      return fc.boolean()
    case 'string':
      return fc.oneof(
        fc.string({ maxLength: 20 }),
        fc.constantFrom('1', 'a', 'https://a.example/', '2026-06-01'),
      )
    default:
      return value
  }
}

function objectOf({ properties = {} }: Shape, known: Known): fc.Arbitrary<Record<string, unknown>> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, shape]) => [
      name,
      isShape(shape) ? fieldOf(name, shape, known) : value,
    ]),
  )
  const more = fc.dictionary(fc.string({ maxLength: 5 }), value, { maxKeys: 2 })
  return fc.oneof(
    { weight: 4, arbitrary: fc.record(fields) },
    { weight: 2, arbitrary: fc.record(fields, { requiredKeys: [] }) },
    { weight: 1, arbitrary: fc.tuple(fc.record(fields), more).map(([one, other]) => ({ ...other, ...one })) },
  )
}

const contentTypes = [
  'application/json',
  'application/json; charset=utf-16',
  'application/x-ndjson',
  'text/csv',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=b',
  `multipart/form-data; boundary=${'b'.repeat(500)}`,
  'application/json;;;',
  '',
]

const oddHeaders: Record<string, string>[] = [
  { 'idempotency-key': 'same-for-all' },
  { 'idempotency-key': 'k'.repeat(5000) },
  { 'idempotency-key': '' },
  { 'content-encoding': 'gzip' },
  { accept: '*/*;q=0' },
  { origin: 'null' },
  { range: 'bytes=0-' },
  { 'if-none-match': '*' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-forwarded-for': `${'1.2.3.4, '.repeat(200)}::1` },
  { 'x-svc-code': '\u00ff'.repeat(21) },
  { 'x-svc-api-key': `svc_${'A'.repeat(6000)}` },
  { authorization: 'Bearer ' },
  { authorization: `Basic ${'='.repeat(100)}` },
  { 'accept-language': 'xx-'.repeat(500) },
  { cookie: `a=${'b'.repeat(4000)}; ; =; __proto__=1` },
]

const rowFields = [
  'uid',
  'redirectUrl',
  'expected',
  'contractAddress',
  'chainId',
  'tokenId',
  'recipient',
  'metadata',
  'label',
  'item',
  'variant',
  'lastCounter',
  'fileReadKey',
  'publicKey',
  'idempotencyKey',
]

/** Rows as JSON lines or CSV, whole and broken, or the parts of a form. */
function streamOf(known: Known): fc.Arbitrary<{ payload: string; type: string }> {
  const row = objectOf(
    { properties: Object.fromEntries(rowFields.map((name) => [name, { type: 'string' }])) },
    known,
  )
  const rows = fc.array(row, { maxLength: 8 })
  const cell = (one: unknown) =>
    `"${String(typeof one === 'object' ? JSON.stringify(one) : one).replaceAll('"', '""')}"`
  const lines = rows.map((all) => ({
    payload: all.map((one) => JSON.stringify(one)).join('\n'),
    type: 'application/x-ndjson',
  }))
  const csv = rows.map((all) => ({
    payload: [
      rowFields.join(','),
      ...all.map((one) => rowFields.map((name) => cell(one[name] ?? '')).join(',')),
    ].join('\n'),
    type: 'text/csv',
  }))
  const part = fc.tuple(
    fc.constantFrom('name', 'startDate', 'image', 'requestedCodes', '__proto__', ''),
    nasty,
  )
  const form = fc.array(part, { maxLength: 30 }).map((parts) => ({
    payload: `${parts
      .map(([name, content]) => {
        const file = name === 'image' ? '; filename="a.png"\r\ncontent-type: image/png' : ''
        return `--b\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${String(content)}\r\n`
      })
      .join('')}--b--\r\n`,
    type: 'multipart/form-data; boundary=b',
  }))
  return fc.oneof(lines, csv, form)
}

/** The text of a body: as it should be, cut off, with a member given twice, or nothing of the kind. */
function bodyOf(spec: EndpointSpec, known: Known, isLarge: boolean): fc.Arbitrary<string> {
  const fields = objectOf(spec.body ? shapeOf(spec.body()) : {}, known)
  const whole = fields.map((body) => JSON.stringify(body))
  const names = Object.keys(spec.body?.().shape ?? {})
  const plain = fc.oneof(
    { weight: 12, arbitrary: whole },
    { weight: 1, arbitrary: fc.tuple(whole, fc.nat({ max: 60 })).map(([text, cut]) => text.slice(0, -cut)) },
    {
      weight: 1,
      arbitrary: fc.tuple(whole, whole).map(([one, other]) => `${one.slice(0, -1)},${other.slice(1)}`),
    },
    { weight: 1, arbitrary: whole.map((text) => `{"__proto__":${text},"constructor":{"prototype":1}}`) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.string({ unit, maxLength: 60 }) },
    { weight: 1, arbitrary: fc.constant('') },
  )
  if (!isLarge || names.length === 0) return plain
  const one = fc.tuple(fc.constantFrom(...names), fc.oneof(large, long, deepText), fields)
  // The field that is large comes last, so that it is the one that counts.
  const swollen = one.map(
    ([name, text, body]) =>
      `${JSON.stringify({ ...body, [name]: 0 }).slice(0, -1)},${JSON.stringify(name)}:${text}}`,
  )
  return fc.oneof(
    { weight: 40, arbitrary: plain },
    { weight: 1, arbitrary: swollen },
    { weight: 1, arbitrary: deepText },
  )
}

const asText = (content: unknown): string =>
  typeof content === 'string' ? content.toWellFormed() : (JSON.stringify(content) ?? '')

function searchOf(spec: EndpointSpec, method: Method, known: Known): fc.Arbitrary<string> {
  const both = { ...spec.query?.().shape, ...(method === 'GET' ? spec.body?.().shape : {}) }
  const fields = objectOf(Object.keys(both).length > 0 ? shapeOf(z.object(both)) : {}, known)
  const search = fc.tuple(fields, fc.boolean()).map(([query, isTwice]) => {
    const parameters = new URLSearchParams()
    for (const [name, content] of Object.entries(query)) {
      parameters.append(name.toWellFormed(), asText(content))
      if (isTwice) parameters.append(name.toWellFormed(), asText(content))
    }
    return String(parameters)
  })
  const odd = fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '&&&&',
    'a[b]=c&a[b]=d',
    '__proto__[x]=1',
    `a=${'%41'.repeat(2000)}`,
    '=&=&=',
  )
  return fc.oneof({ weight: 12, arbitrary: search }, { weight: 1, arbitrary: odd })
}

/**
 * A request for an endpoint, hostile in some part of it and right in the rest.
 * @param isLarge whether some have up to a megabyte
 */
export function hostileRequest(
  { method, path, spec }: Target,
  { known = {}, isLarge = false }: { known?: Known; isLarge?: boolean } = {},
): fc.Arbitrary<HostileRequest> {
  const segment = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom('1', '2', '3', '5', ...(known.uid ?? []), ...(known.segment ?? [])),
    },
    { weight: 1, arbitrary: fc.string({ unit, maxLength: 30 }) },
    { weight: 1, arbitrary: fc.constantFrom('0', '-1', '99999999999999999999', '\0', '..', 'x'.repeat(290)) },
  )
  const body = bodyOf(spec, known, isLarge).map((payload) => ({ payload, type: 'application/json' }))
  const content = spec.stream
    ? fc.oneof({ weight: 5, arbitrary: streamOf(known) }, { weight: 1, arbitrary: body })
    : body
  const type = fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(...contentTypes) },
  )
  const odd = fc.oneof(
    { weight: 9, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: fc.constantFrom(...oddHeaders) },
  )
  return fc
    .tuple(
      fc.array(segment, { minLength: 3, maxLength: 3 }),
      searchOf(spec, method, known),
      content,
      type,
      odd,
    )
    .map(([segments, search, { payload, type: usual }, given, more]) => {
      let n = 0
      const filled = path.replace(/:\w+/g, () => encodeURIComponent(asText(segments[n++])) || '1')
      const contentType = given ?? usual
      return {
        method,
        url: search === '' ? filled : `${filled}?${search}`,
        headers: { ...(contentType === '' ? {} : { 'content-type': contentType }), ...more },
        payload: method === 'GET' && n % 2 === 0 ? '' : payload,
      }
    })
}
