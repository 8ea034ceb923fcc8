import type { PageLanguage } from '../../../../values/page-languages.ts'
import { Html, html } from '../html.ts'

// The part of ICU's message format that the page needs: `{to}`, `{day, date}`, and
// `{count, plural, one {# minute} other {# minutes}}`, whose branches are plain texts.

/** A date is a day (YYYY-MM-DD) or a time in ISO 8601; the day is that of UTC. */
export type Value = Html | string | number

/** @returns Html if one of the values is; the text and all other values are escaped then */
export type Format<Name extends string> = <V extends Record<Name, Value>>(
  values: V,
) => Html extends V[Name] ? Html : string

/** Names of a text's placeholders, for which a plural has to end in `}}`. */
export type Placeholders<Text extends string> = Text extends `${string}{${infer Head}}${infer Tail}`
  ? Head extends `${infer Name}, plural,${string}`
    ? Name | (Tail extends `${string}}}${infer Rest}` ? Placeholders<Rest> : never)
    : (Head extends `${infer Name}, ${string}` ? Name : Head) | Placeholders<Tail>
  : never

export type Part =
  | string
  | { name: string; is: 'value' | 'date' }
  | { name: string; is: 'plural'; branches: ReadonlyMap<string, string> }

/** What is wrong with a text, as the end of a sentence that names it. */
export class MessageError extends Error {}

const placeholder = /^(\w+)\s*(?:,\s*(date|plural)\s*(?:,(.*))?)?$/s
const branch = /\s*(\w+)\s*\{([^{}]*)\}/y

/** @throws MessageError */
export function parseMessage(text: string): Part[] {
  const parts: Part[] = []
  let at = 0
  while (at < text.length) {
    const start = text.indexOf('{', at)
    const plain = text.slice(at, start < 0 ? undefined : start)
    if (plain.includes('}')) throw new MessageError('has a } without a {')
    if (plain !== '') parts.push(plain)
    if (start < 0) break
    const end = endOf(text, start)
    parts.push(placeholderOf(text.slice(start + 1, end)))
    at = end + 1
  }
  return parts
}

function endOf(text: string, start: number): number {
  let depth = 0
  for (let index = start; index < text.length; index++) {
    if (text[index] === '{') depth += 1
    if (text[index] === '}') depth -= 1
    if (depth === 0) return index
  }
  throw new MessageError('has a { without a }')
}

function placeholderOf(inside: string): Part {
  const [, name, kind, rest = ''] = placeholder.exec(inside.trim()) ?? []
  if (name === undefined || (kind !== 'plural' && rest !== ''))
    throw new MessageError(`has {${inside}}, which is no placeholder`)
  if (kind !== 'plural') return { name, is: kind === 'date' ? 'date' : 'value' }
  const branches = new Map<string, string>()
  branch.lastIndex = 0
  let end = 0
  for (let found = branch.exec(rest); found; found = branch.exec(rest)) {
    branches.set(found[1] ?? '', found[2] ?? '')
    end = branch.lastIndex
  }
  if (rest.slice(end).trim() !== '' || !branches.has('other'))
    throw new MessageError(`has a plural of {${name}} that does not read one {…} other {…}`)
  return { name, is: 'plural', branches }
}

/** @throws MessageError */
export function compileMessage(
  text: string,
  language: PageLanguage,
): (values: Readonly<Record<string, Value>>) => Html | string {
  const parts = parseMessage(text)
  return (values) => {
    const written = parts.map((part) =>
      typeof part === 'string' ? part : writtenAs(part, values[part.name] ?? '', language),
    )
    return written.some((part) => part instanceof Html) ? html`${written}` : written.join('')
  }
}

function writtenAs(part: Exclude<Part, string>, value: Value, language: PageLanguage): Value {
  if (part.is === 'value' || value instanceof Html) return value
  if (!('branches' in part)) return dayIn(language, String(value).slice(0, 10))
  const { branch, text } = countIn(language, Number(value))
  return (part.branches.get(branch) ?? part.branches.get('other') ?? '').replaceAll('#', () => text)
}

// Pages say the same few days and counts again and again, and Intl takes microseconds for each.
const days = new Map<string, string>()
const counts = new Map<string, { branch: string; text: string }>()
const maxWritten = 1000

/** @param day YYYY-MM-DD */
const dayIn = (language: PageLanguage, day: string): string =>
  writtenOnce(days, `${language} ${day}`, () => formatsOf(language).date.format(new Date(day)))

const countIn = (language: PageLanguage, count: number): { branch: string; text: string } =>
  writtenOnce(counts, `${language} ${count}`, () => {
    const { plural, number } = formatsOf(language)
    return { branch: plural.select(count), text: number.format(count) }
  })

function writtenOnce<T>(all: Map<string, T>, key: string, write: () => T): T {
  const known = all.get(key)
  if (known !== undefined) return known
  const made = write()
  if (all.size >= maxWritten) all.clear()
  all.set(key, made)
  return made
}

const formats = new Map<PageLanguage, ReturnType<typeof newFormats>>()
const newFormats = (language: PageLanguage) => ({
  date: new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }),
  plural: new Intl.PluralRules(language),
  number: new Intl.NumberFormat(language),
})
// Made when asked for: they take a start longer than all texts.
function formatsOf(language: PageLanguage): ReturnType<typeof newFormats> {
  const known = formats.get(language) ?? newFormats(language)
  formats.set(language, known)
  return known
}
