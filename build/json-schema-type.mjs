// Writes the TypeScript type of a JSON Schema, of as much of it as the endpoint table uses.

/**
 * @param isInput of what is sent: optional properties may be undefined
 * @param extra properties that no schema has
 */
export function typeOf(schema, { isInput = false, extra = [] } = {}) {
  const inner = (of) => typeOf(of, { isInput })
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  const choices = schema.anyOf ?? schema.oneOf
  // Spellings of true and false in a query, which need no type.
  if (isInput && choices?.some(({ type }) => type === 'boolean')) return 'boolean'
  if (choices) return [...new Set(choices.map(inner))].join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => inner({ ...schema, type })).join(' | ')
  switch (schema.type) {
    case 'string':
      return 'string'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return `readonly ${inParentheses(schema.items ? inner(schema.items) : 'unknown')}[]`
    case 'object':
      return object(schema, inner, extra, isInput)
    default:
      return 'unknown'
  }
}

function object({ properties = {}, required = [], additionalProperties }, inner, extra, isInput) {
  const named = Object.entries(properties).map(([name, value]) =>
    required.includes(name)
      ? `readonly ${key(name)}: ${inner(value)}`
      : // What reads `undefined` is not sent.
        `readonly ${key(name)}?: ${inner(value)}${isInput ? ' | undefined' : ''}`,
  )
  const isOpen = typeof additionalProperties === 'object'
  const others = isOpen
    ? [`readonly [name: string]: ${named.length > 0 ? 'unknown' : inner(additionalProperties)}`]
    : []
  const all = [...named, ...extra, ...others]
  return all.length === 0 ? '{}' : `{ ${all.join('; ')} }`
}

const key = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name))
const inParentheses = (type) =>
  /^[\w.]+$/.test(type) || (type.startsWith('{') && !type.includes('} |')) ? type : `(${type})`
