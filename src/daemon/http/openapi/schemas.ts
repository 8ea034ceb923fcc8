import * as z from 'zod'
import { type Term, vocabulary } from '../../contract/vocabulary.ts'
import type { WireWords } from '../parse-input.ts'

/** A JSON Schema, as OpenAPI 3.1 has it. */
export interface Schema {
  type?: string
  description?: string
  format?: string
  const?: unknown
  enum?: unknown[]
  examples?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: unknown
  $schema?: string
}

/**
 * Describes a schema with the vocabulary.
 * @param about the schema's resource or field, on which the meaning of `id` and `name` depends
 */
export function schemaOf(
  schema: z.core.$ZodType,
  { io, about, wire }: { io: 'input' | 'output'; about: string; wire: WireWords },
): Schema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // Answers may get new fields, and unknown fields of a request are ignored.
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
      // A schema that names its type also accepts other spellings, which generated clients need not know.
      if (jsonSchema.type !== undefined) delete jsonSchema.anyOf
    },
  }) as Schema
  return renamed(describedBy(json, about), wire)
}

/** A parameter's schema and description. */
export function parameterOf(schema: z.core.$ZodType, name: string, about: string, wire: WireWords) {
  const json = schemaOf(schema, { io: 'input', about, wire })
  const { description, ...rest } = withTerm(json, termOf(about, name))
  return { ...(description ? { description } : {}), schema: rest }
}

const termOf = (about: string, name: string): Term | undefined =>
  vocabulary[`${about}.${name}`] ?? vocabulary[name]

function withTerm(schema: Schema, term: Term | undefined): Schema {
  if (!term) return schema
  const [description, example] = term
  const isText = schema.type === 'string' || schema.anyOf?.some(({ type }) => type === 'string')
  const matching = isText && typeof example === 'number' ? String(example) : example
  const takesExample =
    matching !== undefined && !schema.properties && schema.enum === undefined && !('const' in schema)
  // Annotations of a schema are not inherited.
  return { description, ...(takesExample ? { examples: [matching] } : {}), ...schema }
}

function describedBy(schema: Schema, about: string): Schema {
  const { properties, items, anyOf } = schema
  return {
    ...schema,
    ...(items ? { items: describedBy(items, about) } : {}),
    ...(anyOf ? { anyOf: anyOf.map((one) => describedBy(one, about)) } : {}),
    ...(properties
      ? {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, property]) => [
              name,
              withTerm(describedBy(property, name), termOf(about, name)),
            ]),
          ),
        }
      : {}),
  }
}

/** Renames only the answer's own members, as `WireWords.answer` does. */
function renamed(schema: Schema, wire: WireWords): Schema {
  const { properties, required } = schema
  if (!properties) return schema
  return {
    ...schema,
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [wire.word(name), value]),
    ),
    ...(required ? { required: required.map((name) => wire.word(name)) } : {}),
  }
}

/** An example composed of the fields' examples. @param isWhole include optional fields */
export function exampleOf(schema: Schema, isWhole: boolean): unknown {
  const { examples, anyOf, properties, required = [], items, type } = schema
  if (examples?.[0] !== undefined) return examples[0]
  if ('const' in schema) return schema.const
  if (schema.enum) return schema.enum[0]
  if (anyOf?.[0]) return exampleOf(anyOf[0], isWhole)
  if (properties)
    return Object.fromEntries(
      Object.entries(properties)
        .filter(([name]) => isWhole || required.includes(name))
        .map(([name, property]) => [name, exampleOf(property, isWhole)]),
    )
  if (items) return [exampleOf(items, isWhole)]
  if (schema.format === 'date-time') return '2026-06-01T12:00:00.000Z'
  return { string: 'text', boolean: true, number: 1, integer: 1, object: {} }[type ?? ''] ?? null
}
