// Builds tapchip/client: one module without dependencies, and its types, both from the endpoint table.
import { readFileSync, writeFileSync } from 'node:fs'
import { build } from 'esbuild'
import { typeOf } from './json-schema-type.mjs'

export async function buildClient() {
  const { endpoints, isHarmless, newBadgeEvent, toJSONSchema } = await table()
  const schemaOf = (schema, io) => toJSONSchema(schema, { io, unrepresentable: 'any' })
  const forms = { 'POST /badge-events': newBadgeEvent }

  const operations = {}
  const methods = []
  for (const [key, spec] of Object.entries(endpoints)) {
    if (spec.part === 'admin') continue
    const [method, path] = key.split(' ')
    const form = forms[key]
    const yields = spec.answerType === 'application/x-ndjson'
    const sends = form ? 'form' : spec.stream ? 'lines' : undefined
    const names = Object.keys(spec.query?.().shape ?? {})
    const parts = [spec.params?.(), spec.query?.(), spec.body?.(), form].filter(Boolean)
    const clash = doubled(parts.flatMap(({ shape }) => Object.keys(shape)))
    if (clash) throw new Error(`${spec.id}: ${clash} stands in two parts of the request`)
    operations[spec.id] = {
      method,
      path,
      ...(names.length > 0 && method !== 'GET' ? { query: names } : {}),
      ...(spec.auth === 'code' ? { code: true } : {}),
      ...(spec.isRepeatable ? { repeatable: true } : {}),
      ...(isHarmless(key) && !yields ? { harmless: true } : {}),
      ...(sends ? { sends } : {}),
      ...(yields ? { yields: true } : {}),
    }

    const input = merged(parts.map((part) => schemaOf(part, 'input')))
    const extra = [
      ...(spec.auth === 'code' ? ['readonly code: string'] : []),
      ...(form ? ['readonly image: Blob'] : []),
      ...(sends === 'lines' ? ['readonly lines: readonly unknown[]'] : []),
    ]
    const given = typeOf(input, { isInput: true, extra })
    const optional = (input.required ?? []).length + extra.length === 0 ? '?' : ''
    const answer = typeOf(schemaOf(spec.response(), 'output'))
    const answers = yields ? `AsyncGenerator<${answer}>` : `Promise<${answer}>`
    methods.push(
      `  /** ${spec.summary}. ${key} */\n  ${spec.id}(input${optional}: ${given}, options?: CallOptions): ${answers}`,
    )
  }

  const types = readFileSync('src/client/api.d.ts', 'utf8')
  const mark = /\/\*\* The build replaces it.*\nexport type Client = object\n/
  if (!mark.test(types)) throw new Error('src/client/api.d.ts has no place for the operations')
  writeFileSync(
    'dist/client.d.ts',
    types.replace(mark, () => `export interface Client {\n${methods.join('\n')}\n}\n`),
  )
  await build({
    entryPoints: ['src/client/index.ts'],
    outfile: 'dist/client.js',
    bundle: true,
    platform: 'neutral',
    target: 'es2022',
    format: 'esm',
    logLevel: 'warning',
    minify: true,
    define: { __TAPCHIP_OPERATIONS__: JSON.stringify(operations) },
  })
}

/** The sources are TypeScript, so they are bundled before they can be imported. */
export async function table() {
  const contents = `
    export { endpoints } from './src/daemon/contract/index.ts'
    export { newBadgeEvent } from './src/daemon/contract/badge-events.ts'
    export { isHarmless } from './src/values/repeating.ts'
    export { toJSONSchema } from 'zod'`
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: process.cwd() },
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    logLevel: 'warning',
  })
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`)
}

const merged = (schemas) => ({
  type: 'object',
  properties: Object.assign({}, ...schemas.map(({ properties }) => properties)),
  required: schemas.flatMap(({ required }) => required ?? []),
  // Parameters of taps have names of their own in some key sets.
  ...(schemas.some(({ additionalProperties }) => additionalProperties) ? { additionalProperties: {} } : {}),
})

const doubled = (names) => names.find((name, index) => names.indexOf(name) !== index)
