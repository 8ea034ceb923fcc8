import { STATUS_CODES } from 'node:http'
import * as z from 'zod'
import type { EndpointSpec } from '../../contract/endpoint.ts'
import { errorOnWire } from '../../contract/fields.ts'
import { endpoints } from '../../contract/index.ts'
import { version } from '../../process/version.ts'
import { splitKey } from '../bind.ts'
import { statusOf } from '../errors.ts'
import type { WireWords } from '../parse-input.ts'
import { refusalsOf } from './refusals.ts'
import { exampleOf, parameterOf, type Schema, schemaOf } from './schemas.ts'

type Json = Record<string, unknown>

/**
 * Builds the OpenAPI 3.1 document. `public` covers the interface and its extensions for scripts; `admin` covers
 * everything under /admin.
 */
export function openApiDocument(
  { wire, baseUrl }: { wire: WireWords; baseUrl: string },
  kind: 'public' | 'admin',
): Json {
  const paths: Record<string, Json> = {}
  const tags = new Set<string>()
  for (const [key, spec] of Object.entries<EndpointSpec>(endpoints)) {
    if ((spec.part === 'admin') !== (kind === 'admin')) continue
    const { method, path } = splitKey(key)
    const shown = path
      .split('/')
      .map((part) => wire.word(part).replace(/^:(.+)/, '{$1}'))
      .join('/')
    const tag = wire.word(resourceOf(path))
    tags.add(tag)
    const described = { ...operation(key, spec, wire), tags: [tag] }
    paths[shown] = { ...paths[shown], [String(method).toLowerCase()]: described }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tapchip', version, description: aboutAll },
    servers: [{ url: baseUrl }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: wire.apiKeyHeader,
          description: "A team's API key",
        },
        ...(kind === 'admin'
          ? { admin: { type: 'http', scheme: 'bearer', description: 'An admin token' } }
          : {
              code: {
                type: 'apiKey',
                in: 'header',
                name: wire.codeHeader,
                description: 'The code (otp) of a tap, which a ref gives',
              },
            }),
      },
      schemas: { Error: schemaOf(errorOnWire, { io: 'output', about: 'error', wire }) },
    },
  }
}

const aboutAll =
  'NFC chips tied to NFTs: taps, refs, codes. A tap leads to a ref; the ref is queried once, and gives the codes that authorize what follows. Answers may get further fields. The fields of a GET or DELETE may be sent in its query or in a JSON body. A 503 means that nothing was used up, unless its message says otherwise.'

const resourceOf = (path: string): string => path.split('/').filter((part) => part !== 'admin')[1] ?? ''

function securityOf({ auth, keyIsOptional, isForAllTeams }: EndpointSpec): Json[] {
  if (keyIsOptional) return [{ apiKey: [] }, {}]
  const key = { apiKey: [] }
  const admin = isForAllTeams ? [{ admin: [] }] : [key, { admin: [] }]
  return { none: [], 'api-key': [key], code: [{ code: [] }], admin }[auth]
}

function operation(key: string, spec: EndpointSpec, wire: WireWords): Json {
  const about = resourceOf(splitKey(key).path)
  return {
    operationId: spec.id,
    summary: spec.summary,
    ...(spec.description ? { description: spec.description } : {}),
    security: securityOf(spec),
    parameters: [
      ...parametersOf(spec.params?.(), 'path', about, wire),
      ...parametersOf(spec.query?.(), 'query', about, wire),
      ...(spec.isRepeatable ? [idempotencyKey] : []),
    ],
    ...bodyOf(spec, about, wire),
    responses: { 200: answerOf(spec, about, wire), ...refusals(key, spec), default: refused },
  }
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes the request safe to repeat: with the same key it takes effect once, and a repeat gets the first answer. Kept for a day, for each team, or for each code.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
}

function answerOf(spec: EndpointSpec, about: string, wire: WireWords): Json {
  const { answerType: type = 'application/json', response } = spec
  const schema = schemaOf(response(), { io: 'output', about, wire })
  const isDone = { description: type === 'application/json' ? 'Done' : 'Done; one line per row' }
  return { ...isDone, content: { [type]: { schema, ...exampleIn(spec, exampleOf(schema, true)) } } }
}

const exampleIn = ({ part }: EndpointSpec, example: unknown): Json => (part === 'admin' ? {} : { example })

const errorSchema = { $ref: '#/components/schemas/Error' }
const refused = {
  description: 'Refused: the message says why and what to do',
  content: { 'application/json': { schema: errorSchema } },
}

/** Its codes, by status. */
function refusals(key: string, spec: EndpointSpec): Json {
  const byStatus = new Map<number, string[]>()
  for (const code of refusalsOf(key, spec))
    byStatus.set(statusOf[code], [...(byStatus.get(statusOf[code]) ?? []), code])
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}`,
        ...(status === 429 || status === 503 ? { headers: retryAfter } : {}),
        content: {
          'application/json': {
            schema: { allOf: [errorSchema, { type: 'object', properties: { code: { enum: codes } } }] },
          },
        },
      },
    ]),
  )
}

const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer' } } }

function bodyOf(spec: EndpointSpec, about: string, wire: WireWords): Json {
  const { stream, form, body } = spec
  if (stream) {
    const content = Object.fromEntries(
      stream.contentTypes.map((type) => [
        type,
        { schema: form ? formOf(form(), about, wire) : { type: 'string' } },
      ]),
    )
    return { requestBody: { required: true, description: stream.description, content } }
  }
  if (!body) return {}
  const schema = schemaOf(body(), { io: 'input', about, wire })
  const example = spec.example ?? exampleOf(schema, false)
  const content = { 'application/json': { schema, ...exampleIn(spec, example) } }
  return { requestBody: { required: true, content } }
}

function formOf(form: z.ZodObject, about: string, wire: WireWords): Schema {
  const { properties, required = [], ...schema } = schemaOf(form, { io: 'input', about, wire })
  const image: Schema = { type: 'string', format: 'binary', description: 'A GIF or PNG under 4 MB' }
  return { ...schema, properties: { ...properties, image }, required: [...required, 'image'] }
}

function parametersOf(
  schema: z.ZodObject | undefined,
  location: 'path' | 'query',
  about: string,
  wire: WireWords,
): Json[] {
  if (!schema) return []
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: location,
    required: location === 'path' || !z.safeParse(field, undefined).success,
    ...parameterOf(field, name, about, wire),
  }))
}
