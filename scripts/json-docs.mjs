// Writes into docs/json.md what commands print that print an endpoint's answer, from the endpoint table. In these blocks,
// comments are kept by field, and so are fields that a block gives as `object` alone. With --check it writes nothing, and
// fails where the page is not up to date.
import { readFileSync, writeFileSync } from 'node:fs'
import { table } from '../build/client.mjs'

const page = 'docs/json.md'
const { endpoints, toJSONSchema } = await table()
/** Fields of the block at hand that stay `object`. */
let opaque = new Set()

const old = readFileSync(page, 'utf8')
const sections = []
for (const section of old.split(/^(?=### )/m)) {
  const key = /\bAs\s+`([A-Z]+ [^`]+)`\s+answers/.exec(section)?.[1]
  const base = /All\s+fields\s+of\s+(`[^`]+`)/.exec(section)?.[1]
  const known = base ? fieldsIn(sections.find((one) => one.split('\n', 1)[0].includes(base))) : []
  const block = /```ts\n([\s\S]*?)```/
  sections.push(key ? section.replace(block, (_, text) => answerOf(key, text, known)) : section)
}
const filled = sections.join('')

if (!process.argv.includes('--check')) writeFileSync(page, filled)
else if (filled !== old) {
  console.error(`${page} differs from the endpoint table. Write it anew: npm run docs:json`)
  process.exitCode = 1
}

function fieldsIn(section) {
  return [...section.matchAll(/^ {2}(\w+)\??: /gm)].map(([, name]) => name)
}

/** @param known fields that are left out */
function answerOf(key, block, known) {
  const spec = endpoints[key]
  if (!spec) throw new Error(`${page}: there is no endpoint ${key}`)
  const answer = toJSONSchema(spec.response(), { io: 'output', unrepresentable: 'any' })
  const schema = answer.type === 'array' ? answer.items : answer
  const properties = Object.entries(schema.properties ?? {}).filter(([name]) => !known.includes(name))
  opaque = new Set([...block.matchAll(/^ *(\w+)\??: object\b/gm)].map(([, name]) => name))
  const own = known.length === 0 ? schema : { ...schema, properties: Object.fromEntries(properties) }
  return `\`\`\`ts\n${typeOf(own, commentsIn(block))}\n\`\`\``
}

/** By the path of the field: `linkedToken.ownerNote`. */
function commentsIn(block) {
  const comments = new Map()
  const path = []
  for (const line of block.split('\n')) {
    const [, name, opens, comment] = /^ *(?:(\w+)\??: )?.*?(\{)?(?: \/\/ (.*))?$/.exec(line) ?? []
    if (name && comment) comments.set([...path, name].join('.'), comment)
    if (name && opens) path.push(name)
    if (/^ *\}/.test(line)) path.pop()
  }
  return comments
}

function typeOf(schema, comments, path = []) {
  const inner = (of) => typeOf(of, comments, path)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(inner))].join(' | ')
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => inner({ ...schema, type })).join(' | ')
  if (schema.format === 'date-time') return 'time'
  if (schema.type === 'integer') return 'number'
  if (schema.type === 'array') {
    const item = inner(schema.items ?? {})
    return isUnion(item) ? `(${item})[]` : `${item}[]`
  }
  if (schema.type === 'object') return opaque.has(path.at(-1)) ? 'object' : objectOf(schema, comments, path)
  return schema.type ?? 'any'
}

/** Outside of braces. */
function isUnion(type) {
  let inner = type
  while (/\{[^{}]*\}/.test(inner)) inner = inner.replace(/\{[^{}]*\}/g, '')
  return inner.includes(' | ')
}

function literal(value) {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

function objectOf({ properties = {}, required = [] }, comments, path) {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const type = typeOf(schema, comments, [...path, name])
    const comment = comments.get([...path, name].join('.'))
    return { text: `${name}${required.includes(name) ? '' : '?'}: ${type}`, comment }
  })
  if (fields.length === 0) return 'object'
  const short = `{ ${fields.map(({ text }) => text).join(', ')} }`
  const isShort = path.length > 0 && short.length < 80 && !short.includes('\n')
  if (isShort && fields.every(({ comment }) => comment === undefined)) return short
  const indent = '  '.repeat(path.length)
  const lines = fields.map(({ text, comment }) => `${indent}  ${commented(text, comment)}`)
  return `{\n${lines.join('\n')}\n${indent}}`
}

/** At the end of a field's first line. */
function commented(text, comment) {
  return comment === undefined ? text : text.replace(/$|(?=\n)/, ` // ${comment}`)
}
