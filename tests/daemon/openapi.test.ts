import { describe, expect, test } from 'vitest'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { openApiDocument } from '../../src/daemon/http/openapi/document.ts'
import { WireWords } from '../../src/daemon/http/parse-input.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document, read as its readers do
type Json = any

const documentOf = (wirePrefix: string, wireBadge: string): Json =>
  openApiDocument(
    { wire: new WireWords({ wirePrefix, wireBadge }), baseUrl: 'https://chips.example' },
    'public',
  )
const document = documentOf('svc', 'badge')

const operationOf = (key: string): Json => {
  const [method = '', path = ''] = key.split(' ')
  return document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
}
const open = Object.entries<EndpointSpec>(endpoints)
  .filter(([, { part }]) => part !== 'admin')
  .map(([key, spec]) => ({ key, spec, operation: operationOf(key) }))
const jsonOf = (content: Json): Json => content?.content?.['application/json']

/** The paths of the fields in a schema for which `wrong` holds. */
const fieldsIn = (schema: Json, wrong: (field: Json) => boolean, at = ''): string[] => [
  ...Object.entries<Json>(schema?.properties ?? {}).flatMap(([name, field]) => [
    ...(wrong(field) ? [`${at}.${name}`] : []),
    ...fieldsIn(field, wrong, `${at}.${name}`),
  ]),
  ...[schema?.items, ...(schema?.anyOf ?? [])].flatMap((one) => (one ? fieldsIn(one, wrong, at) : [])),
]

describe('the OpenAPI document', () => {
  test('says of each event by whose id it is found', () => {
    const ofProvider = "The event's id at the badge provider"
    for (const key of [
      'GET /events/id/:id',
      'GET /metadata/:eventId/:tokenId',
      'GET /actions/scan/:address/:eventId',
    ])
      expect(operationOf(key).parameters).toContainEqual(
        expect.objectContaining({
          in: 'path',
          name: expect.stringMatching(/^(id|eventId)$/),
          description: ofProvider,
        }),
      )
    for (const key of ['PATCH /events/metadata', 'POST /events/mint'])
      expect(jsonOf(operationOf(key).requestBody).schema.properties.eventId.description).toMatch(
        /guestbook event's id/,
      )
    const token = jsonOf(operationOf('GET /refs/:id').responses[200]).schema.properties.linkedToken
    expect(Object.keys(token.properties.metadata.properties)).toContain('external_url')
  })

  const ofInterface = open.filter(({ spec }) => spec.part !== 'beyond')

  test.each(ofInterface)('describes every field and parameter of $key', ({ operation }) => {
    const isSilent = ({ description }: Json) => !description
    const bodies = Object.values<Json>({
      ...operation.requestBody?.content,
      ...operation.responses[200].content,
    })
    expect(bodies.flatMap(({ schema }) => fieldsIn(schema, isSilent))).toEqual([])
    expect(operation.parameters.filter(isSilent)).toEqual([])
  })

  test.each(open)(
    'has examples of $key that the daemon itself takes and gives',
    async ({ spec, operation }) => {
      const { body, query, response } = spec
      if (body) {
        const { success, error } = await body().safeParseAsync(jsonOf(operation.requestBody).example)
        expect([success, error?.issues]).toEqual([true, undefined])
      }
      const given = operation.parameters
        .filter((one: Json) => one.in === 'query' && one.schema.examples)
        .map(({ name, schema }: Json) => [name, String(schema.examples[0])])
      if (query) expect(query().safeParse(Object.fromEntries(given)).error?.issues).toBe(undefined)
      const answer = jsonOf(operation.responses[200])
      if (answer && spec.part === 'interface')
        expect(response().safeParse(answer.example).error?.issues).toBe(undefined)
    },
  )

  test('leaves answers open, so that clients of it take further fields', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })

  test('lets a client send its key with a ref, and go without', () => {
    expect(operationOf('GET /refs/:id').security).toEqual([{ apiKey: [] }, {}])
    expect(operationOf('GET /chips').security).toEqual([{ apiKey: [] }])
    expect(operationOf('POST /badge-events/mint').security).toEqual([{ code: [] }])
  })

  test('names the Idempotency-Key exactly where a request may be repeated with one', () => {
    const named = open.filter(({ operation }) =>
      operation.parameters.some(({ name }: Json) => name === 'Idempotency-Key'),
    )
    expect(named.map(({ key }) => key)).toEqual(
      open.filter(({ spec }) => spec.isRepeatable).map(({ key }) => key),
    )
    expect(named.length).toBeGreaterThan(8)
  })

  test('has the fields of the form and its image', () => {
    const { schema } = operationOf('POST /badge-events').requestBody.content['multipart/form-data']
    expect(schema.properties).toMatchObject({
      name: { type: 'string' },
      requestedCodes: { type: 'integer' },
      image: { type: 'string', format: 'binary' },
    })
    expect(schema.required).toEqual(expect.arrayContaining(['name', 'startDate', 'image']))
    expect(schema.required).not.toContain('eventURL')
  })

  test('lists the codes of the errors of an endpoint, by status', () => {
    const { responses } = operationOf('POST /phygitals/transfer/pullable')
    const codes = (status: number) => jsonOf(responses[status]).schema.allOf[1].properties.code.enum
    expect(codes(401)).toEqual(['otp_missing', 'otp_unknown', 'otp_deleted', 'otp_used', 'otp_expired'])
    expect(codes(409)).toContain('registration_early')
    expect(responses[503].headers).toHaveProperty('Retry-After')
    expect(document.components.schemas.Error.required).toEqual(expect.arrayContaining(['code', 'message']))
  })

  test('speaks the words of a service of another name', () => {
    const other = documentOf('acme', 'poap')
    expect(other.paths['/poap-events/mint'].post.tags).toEqual(['poap-events'])
    expect(other.components.securitySchemes.apiKey.name).toBe('x-acme-api-key')
    const [ref] = Object.values<Json>(other.paths['/refs/{id}'].get.responses[200].content)
    expect(ref.schema.properties).toHaveProperty('poapEvents')
    expect(ref.example).toHaveProperty('poapEvents')
  })
})
