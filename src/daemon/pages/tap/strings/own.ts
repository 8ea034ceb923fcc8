import { type PageLanguage, pageLanguages } from '../../../../values/page-languages.ts'
import { MessageError, parseMessage } from './message.ts'
import { messages } from './strings.ts'

/** A team's own texts, by language and key. Keys are paths, such as `buttons.claim`. */
export type OwnWords = Partial<Record<PageLanguage, Record<string, string>>>

export const maxTextLength = 500
/** Of all texts of a team as JSON: every tap reads them. */
const maxBytes = 32_000
const maxProblems = 50

/**
 * Said in the daemon's own words: a chip that is genuine, a seal, what went wrong, what cannot be undone, and what becomes
 * of an address. A team that changed them could mislead the people who rely on them.
 */
const protectedKeys = new RegExp(
  `^(${[
    'genuine|seal[CO]|explain\\.claim[FO]|check|collect\\.partly',
    'refus|unable|failures|mistyped|tryAgainIn|notFound|notNow|problem|printed|home',
    'script\\.(genuineAgo|offline|failed|busy|unknown)',
    'publicPage\\.about|kept\\.(explain|secret|ended|unknown)|mail\\.(secret|forget|notYou)',
    'reserve\\.(shared|bounced|keptBounced|invalid|often)',
  ].join('|')})`,
)

interface Texts {
  readonly [key: string]: string | Texts
}

function flat(texts: Texts, path = ''): [string, string][] {
  return Object.entries(texts).flatMap(([name, text]): [string, string][] =>
    typeof text === 'string' ? [[path + name, text]] : flat(text, `${path}${name}.`),
  )
}

const builtIn = new Map<PageLanguage, ReadonlyMap<string, string>>()
function ofLanguage(language: PageLanguage): ReadonlyMap<string, string> {
  const known = builtIn.get(language)
  if (known) return known
  const made = new Map(flat(messages[language]).filter(([key]) => !protectedKeys.test(key)))
  builtIn.set(language, made)
  return made
}

/** Every text that a team can replace, with its own in place of the built-in ones. @param stored as in the store */
export function wordsInUse(stored: string | null): Record<PageLanguage, Record<string, string>> {
  const own = parseOwn(stored)
  const entries = pageLanguages.map((language) => [
    language,
    { ...Object.fromEntries(ofLanguage(language)), ...own[language] },
  ])
  return Object.fromEntries(entries)
}

/** Texts in the store were checked. */
export const parseOwn = (stored: string | null): OwnWords => (stored === null ? {} : JSON.parse(stored))

const namesOf = (text: string): string =>
  [...new Set(parseMessage(text).flatMap((part) => (typeof part === 'string' ? [] : `{${part.name}}`)))]
    .sort()
    .join(', ')
const isDate = (text: string): boolean =>
  parseMessage(text).some((part) => typeof part !== 'string' && part.is === 'date')

/** @returns the end of a sentence; undefined: nothing is wrong with it */
function problemOf(text: string, original: string): string | undefined {
  if (text.trim() === '') return 'is empty. Leave it out, or null, for the built-in text.'
  if (text.length > maxTextLength)
    return `has ${text.length} characters; ${maxTextLength} is the limit. Shorten it.`
  try {
    const [has, needs] = [namesOf(text), namesOf(original)]
    if (has !== needs)
      return needs === ''
        ? `has the placeholders ${has}, but this text takes none. Remove the braces.`
        : `has to have the placeholders ${needs}, each as it is there${has === '' ? '' : `, and has ${has}`}. Copy them from: ${original}`
    if (isDate(text) !== isDate(original)) return `has to write dates as the built-in text does: ${original}`
  } catch (error) {
    if (error instanceof MessageError) return `${error.message}. The built-in text: ${original}`
    throw error
  }
}

/**
 * @param texts by language and key; null is the built-in text, as is a text that equals it
 * @returns JSON for the store, null if nothing is left, and what is wrong with each text
 */
export function readWords(texts: Readonly<Record<string, Readonly<Record<string, string | null>>>>): {
  words: string | null
  problems: string[]
} {
  const problems: string[] = []
  const words: OwnWords = {}
  for (const [name, entries] of Object.entries(texts)) {
    const language = pageLanguages.find((one) => one === name)
    if (!language) {
      problems.push(
        `"${name.slice(0, 40)}" is no language of the page. Its languages: ${pageLanguages.join(', ')}.`,
      )
      continue
    }
    const originals = ofLanguage(language)
    const own: Record<string, string> = {}
    for (const [key, text] of Object.entries(entries)) {
      const original = originals.get(key)
      const row = `${language} ${key.slice(0, 80)}`
      if (original === undefined)
        problems.push(
          protectedKeys.test(key)
            ? `${row}: this text cannot be replaced, since it tells people what went wrong or protects them. Remove it.`
            : `${row}: there is no such text. List them: tapchip pages strings export`,
        )
      else if (text !== null && text !== original) {
        const problem = problemOf(text, original)
        if (problem) problems.push(`${row} ${problem}`)
        else own[key] = text
      }
      if (problems.length >= maxProblems) return { words: null, problems }
    }
    // In the order of the built-in ones, so that a file in another order is the same.
    const sorted = [...originals.keys()].flatMap((key) => (key in own ? [[key, own[key]]] : []))
    if (sorted.length > 0) words[language] = Object.fromEntries(sorted)
  }
  const json = Object.keys(words).length > 0 ? JSON.stringify(words) : null
  const bytes = json === null ? 0 : Buffer.byteLength(json)
  if (bytes > maxBytes)
    problems.push(
      `All texts together take ${bytes} bytes; ${maxBytes} is the limit, since each tap reads them. Shorten some.`,
    )
  return { words: json, problems }
}
