import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '../../src/values/json.ts'

/** A field of docs/json.md. Its path goes through objects and the elements of lists alike. */
export interface Field {
  readonly path: string
  readonly isOptional: boolean
  /** As written: `text or null`. */
  readonly type: string
}

/** A section of docs/json.md. */
export interface Section {
  readonly heading: string
  /** Commands without flags; empty: it is about any with the flag of its heading. */
  readonly commands: readonly string[]
  readonly isList: boolean
  readonly isObject: boolean
  /** `GET /admin/chips`, if it prints what the daemon answers. */
  readonly endpoint: string | undefined
  readonly fields: readonly Field[]
  /** Other fields may be there, too. */
  readonly isOpen: boolean
}

const spansIn = (line: string): string[] => [...line.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span)

const readSections = (text: string): Section[] => {
  const sections: Section[] = []
  for (const part of text.split(/^### /m).slice(1)) {
    const [heading = '', ...lines] = part.split('\n')
    const lead = lines
      .slice(
        0,
        lines.findIndex((line) => line.startsWith('|')),
      )
      .join(' ')
    const rows = lines.flatMap((line) => {
      const [, name, type] = /^\| `([^`]+)` \| ([^|]+) \|/.exec(line) ?? []
      return name && type ? [{ name, type: type.trim() }] : []
    })
    const base = / All fields of `([^`]+)`/.exec(lead)?.[1]
    const inherited = sections.find((one) => spansIn(one.heading).includes(base ?? ''))?.fields ?? []
    const own = rows
      .filter(({ name }) => name !== '*')
      .map(({ name, type }) => ({
        path: name.replace(/\?$/, ''),
        isOptional: name.endsWith('?'),
        type,
      }))
    sections.push({
      heading,
      commands: spansIn(heading).flatMap((span) => /^[a-z][a-z-]*( [a-z][a-z-]*)*/.exec(span)?.[0] ?? []),
      isList: /\barray\b/.test(lead),
      isObject: /\bone\b|\blines\b/i.test(lead),
      endpoint: / As `([A-Z]+ [^`]+)` answers/.exec(lead)?.[1],
      fields: [...inherited, ...own],
      isOpen: rows.some(({ name }) => name === '*'),
    })
  }
  return sections
}

export const sections = readSections(readFileSync(join(import.meta.dirname, '../../docs/json.md'), 'utf8'))

const fits: Readonly<Record<string, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  true: (value) => value === true,
  time: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value),
  list: Array.isArray,
  object: isJsonObject,
  null: (value) => value === null,
  any: () => true,
}

const problemsIn = (value: unknown, fields: readonly Field[], isOpen: boolean, at = ''): string[] => {
  if (Array.isArray(value))
    return value.slice(0, mostChecked).flatMap((one) => problemsIn(one, fields, isOpen, at))
  if (!isJsonObject(value)) return []
  const here = fields.filter(({ path }) => path.startsWith(at) && !path.slice(at.length).includes('.'))
  if (here.length === 0 && at !== '') return []
  const known = new Map(here.map((field) => [field.path.slice(at.length), field]))
  const unknown = isOpen ? [] : Object.keys(value).filter((name) => !known.has(name))
  const wrong = [...known].flatMap(([name, { path, type, isOptional }]) => {
    if (!Object.hasOwn(value, name)) return isOptional ? [] : [`${path} is missing`]
    const isFit = type.split(' or ').some((one) => fits[one]?.(value[name]))
    return isFit
      ? problemsIn(value[name], fields, false, `${path}.`)
      : [`${path} is ${JSON.stringify(value[name])}, not ${type}`]
  })
  return [...unknown.map((name) => `${at}${name} is not documented`), ...wrong]
}

/** The rows of a long list are alike. */
const mostChecked = 1000

const documents = (text: string): unknown[] => {
  try {
    return [JSON.parse(text)]
  } catch {
    return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [JSON.parse(line)]))
  }
}

/**
 * Compares what a command printed with docs/json.md. With several sections about a command, one has to fit.
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
    const isFree = mine.every(({ commands, isOpen }) => isOpen || commands.length === 0)
    return code === 0 && !isFree ? `${args.join(' ')} prints something else than JSON` : undefined
  }
  for (const value of printed.slice(0, mostChecked)) {
    const isList = Array.isArray(value)
    const tried = mine
      .filter((section) => (isList ? section.isList : section.isObject))
      .map(({ fields, isOpen }) => problemsIn(value, fields, isOpen))
      .sort((a, b) => a.length - b.length)
    const why = tried[0] ?? ['no section of docs/json.md']
    if (why.length > 0) return `${args.join(' ')}: ${[...new Set(why)].join('; ')}`
  }
  return undefined
}
