import * as z from 'zod'
import type { EndpointSpec } from '../contract/endpoint.ts'
import { errorOnWire } from '../contract/fields.ts'
import { endpoints } from '../contract/index.ts'
import { version } from '../version.ts'
import { splitKey } from './bind.ts'
import type { WireWords } from './wire.ts'

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
  for (const [key, spec] of Object.entries<EndpointSpec>(endpoints)) {
    if ((spec.part === 'admin') !== (kind === 'admin')) continue
    const { method, path } = splitKey(key)
    const shown = path
      .split('/')
      .map((part) => wire.word(part).replace(/^:(.+)/, '{$1}'))
      .join('/')
    paths[shown] = { ...paths[shown], [String(method).toLowerCase()]: operation(spec, wire) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tapchip', version, description: 'NFC chips tied to NFTs: taps, refs, codes.' },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: wire.apiKeyHeader },
        code: { type: 'apiKey', in: 'header', name: wire.codeHeader },
        admin: { type: 'http', scheme: 'bearer' },
      },
      schemas: { Error: schemaOf(errorOnWire, 'output', wire) },
    },
  }
}

const security: Record<EndpointSpec['auth'], Json[]> = {
  none: [],
  'api-key': [{ apiKey: [] }],
  code: [{ code: [] }],
  admin: [{ admin: [] }],
}

function operation(spec: EndpointSpec, wire: WireWords): Json {
  const type = spec.answerType ?? 'application/json'
  return {
    operationId: spec.id,
    summary: spec.summary,
    tags: [spec.part],
    security: security[spec.auth],
    parameters: [...parametersOf(spec.params, 'path', wire), ...parametersOf(spec.query, 'query', wire)],
    ...bodyOf(spec, wire),
    responses: {
      200: { description: 'Done', content: { [type]: { schema: schemaOf(spec.response, 'output', wire) } } },
      default: {
        description: 'Refused: the message says why and what to do',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

function bodyOf(spec: EndpointSpec, wire: WireWords): Json {
  if (spec.stream) {
    const content = Object.fromEntries(
      spec.stream.contentTypes.map((type) => [type, { schema: { type: 'string' } }]),
    )
    return { requestBody: { required: true, description: spec.stream.description, content } }
  }
  if (!spec.body) return {}
  return {
    requestBody: {
      required: true,
      content: { 'application/json': { schema: schemaOf(spec.body, 'input', wire) } },
    },
  }
}

function parametersOf(schema: z.ZodObject | undefined, location: 'path' | 'query', wire: WireWords): Json[] {
  if (!schema) return []
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: location,
    required: location === 'path' || !z.safeParse(field, undefined).success,
    schema: schemaOf(field, 'input', wire),
  }))
}

function schemaOf(schema: z.core.$ZodType, io: 'input' | 'output', wire: WireWords): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return renamed(json, wire)
}

function renamed(schema: Json, wire: WireWords): Json {
  const { properties, required } = schema
  if (typeof properties !== 'object' || properties === null) return schema
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [wire.word(name), value]),
    ),
    ...(Array.isArray(required) ? { required: required.map((name) => wire.word(String(name))) } : {}),
  }
}
