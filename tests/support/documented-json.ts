import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '../../src/values/json.ts'

/** A type as docs/json.md writes it: alternatives, of which one has to fit. */
export type Type = readonly (
  | string
  | { readonly list: Type }
  | { readonly fields: readonly Field[]; isOpen: boolean }
)[]

interface Field {
  readonly name: string
  readonly isOptional: boolean
  readonly type: Type
}

/** A section of docs/json.md. */
interface Section {
  readonly heading: string
  /** Commands without flags; empty: it is about any with the flag of its heading. */
  readonly commands: readonly string[]
  readonly isList: boolean
  readonly isObject: boolean
  readonly type: Type
}

const spansIn = (line: string): string[] => [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)

/** `string | null`, `{ id: number, name?: string }[]`, `'a' | 'b'`; `[more]: any` lets further fields in. */
export function parseType(text: string): Type {
  const tokens = text.replace(/ \/\/ .*$/gm, '').match(/'[^']*'|\[more\]|\[\]|\w+|[{}():|?]/g) ?? []
  const next = () => tokens.shift() ?? ''
  const union = (): Type => {
    const choices = [...one()]
    while (tokens[0] === '|') {
      next()
      choices.push(...one())
    }
    return choices
  }
  const one = (): Type => {
    const token = next()
    let type: Type =
      token === '{' ? [object()] : token === '(' ? union() : [token.startsWith("'") ? 'string' : token]
    if (token === '(') next()
    while (tokens[0] === '[]') {
      next()
      type = [{ list: type }]
    }
    return type
  }
  const object = () => {
    const fields: Field[] = []
    let isOpen = false
    while (tokens.length > 0 && tokens[0] !== '}') {
      const name = next()
      const isOptional = tokens[0] === '?'
      if (isOptional) next()
      next()
      const type = union()
      if (name === '[more]') isOpen = true
      else fields.push({ name, isOptional, type })
    }
    next()
    return { fields, isOpen }
  }
  return union()
}

const fieldsOf = (type: Type): readonly Field[] =>
  type.flatMap((one) => (typeof one !== 'string' && 'fields' in one ? one.fields : []))

function readSections(text: string): Section[] {
  const sections: Section[] = []
  for (const part of text.split(/^### /m).slice(1)) {
    const [, heading = '', lead = '', block = ''] = /^(.*)\n([\s\S]*?)```ts\n([\s\S]*?)```/.exec(part) ?? []
    const base = /All\s+fields\s+of\s+(`[^`]+`)/.exec(lead)?.[1]
    const inherited = sections.find((section) => base && section.heading.includes(base))?.type ?? []
    const type = parseType(block)
    sections.push({
      heading,
      commands: spansIn(heading).flatMap((span) => /^[a-z][a-z-]*( [a-z][a-z-]*)*/.exec(span)?.[0] ?? []),
      isList: /\barray\b/.test(lead),
      isObject: !/\barray\b/.test(lead) || /\bone\b|\blines\b/i.test(lead),
      type: base ? [{ fields: [...fieldsOf(inherited), ...fieldsOf(type)], isOpen: false }] : type,
    })
  }
  return sections
}

export const sections = readSections(readFileSync(join(import.meta.dirname, '../../docs/json.md'), 'utf8'))

const fits: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  true: (value) => value === true,
  false: (value) => value === false,
  time: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
  object: isJsonObject,
  null: (value) => value === null,
  any: () => true,
}

const shown = (type: Type): string =>
  type.map((one) => (typeof one === 'string' ? one : 'list' in one ? 'list' : 'object')).join(' or ')

/** The rows of a long list are alike. */
const maxChecked = 1000

function problemsIn(value: unknown, type: Type, at: string): string[] {
  const tried = type.flatMap((one) => {
    if (typeof one === 'string') return fits[one]?.(value) ? [[]] : []
    if ('list' in one)
      return Array.isArray(value)
        ? [value.slice(0, maxChecked).flatMap((item) => problemsIn(item, one.list, at))]
        : []
    if (!isJsonObject(value)) return []
    const object = value
    const path = (name: string) => (at === '' ? name : `${at}.${name}`)
    const known = new Set(one.fields.map(({ name }) => name))
    const unknown = one.isOpen ? [] : Object.keys(object).filter((name) => !known.has(name))
    const wrong = one.fields.flatMap(({ name, isOptional, type: of }) => {
      if (Object.hasOwn(object, name)) return problemsIn(object[name], of, path(name))
      return isOptional ? [] : [`${path(name)} is missing`]
    })
    return [[...unknown.map((name) => `${path(name)} is not documented`), ...wrong]]
  })
  const [best] = tried.sort((a, b) => a.length - b.length)
  return best ?? [`${at} is ${JSON.stringify(value)}, not ${shown(type)}`]
}

const documents = (text: string): unknown[] => {
  try {
    return [JSON.parse(text)]
  } catch {
    return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line)]))
  }
}

const isOpen = ({ type }: Section) =>
  type.some((one) => typeof one !== 'string' && 'isOpen' in one && one.isOpen)

/**
 * Compares what a command printed with docs/json.md. With several sections about a command, one has to fit. Which texts an
 * enumeration has is not compared.
 * @returns what is wrong; undefined also where nothing can be said: no --json, chosen fields, or an output cut short
 */
export const undocumented = (args: readonly string[], stdout: string, code = 0): string | undefined => {
  const flags = args.filter((arg) => arg.startsWith('-')).map((arg) => arg.split('=', 1)[0])
  if (
    !flags.includes('--json') ||
    flags.some((flag) => flag === '--fields' || flag === '--help' || flag === '-h')
  )
    return undefined
  const words = ` ${args.filter((arg) => !arg.startsWith('-')).join(' ')} `
  const mine = sections.filter(
    ({ heading, commands }) =>
      commands.some((command) => words.includes(` ${command} `)) ||
      (commands.length === 0 && spansIn(heading).some((span) => flags.includes(span))),
  )
  let printed: unknown[]
  try {
    printed = documents(stdout)
  } catch {
    const isFree = mine.every((section) => isOpen(section) || section.commands.length === 0)
    return code === 0 && !isFree ? `${args.join(' ')} prints something else than JSON` : undefined
  }
  for (const value of printed.slice(0, maxChecked)) {
    const isList = Array.isArray(value)
    const rows = isList ? value.slice(0, maxChecked) : [value]
    const tried = mine
      .filter((section) => (isList ? section.isList : section.isObject))
      .map(({ type }) => rows.flatMap((row) => problemsIn(row, type, '')))
      .sort((a, b) => a.length - b.length)
    const why = tried[0] ?? ['no section of docs/json.md']
    if (why.length > 0) return `${args.join(' ')}: ${[...new Set(why)].join('; ')}`
  }
  return undefined
}
