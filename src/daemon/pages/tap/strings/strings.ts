import { type PageLanguage, pageLanguages } from '../../../../values/page-languages.ts'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { compileMessage, parseMessage } from './message.ts'
import type { Messages, Strings } from './messages.ts'

export type { Strings } from './messages.ts'

/** The built-in texts. */
export const messages: Readonly<Record<PageLanguage, Messages>> = { en, de, fr, es }

type Texts = { readonly [key: string]: string | Texts }

/** English decides which texts have placeholders. */
function compile(english: Texts, texts: Texts, language: PageLanguage): object {
  const compiled = Object.entries(english).map(([key, original]) => {
    const text = texts[key] ?? original
    if (typeof original !== 'string')
      return [key, key === 'script' ? text : compile(original, Object(text), language)]
    const isPlain = parseMessage(original).every((part) => typeof part === 'string')
    return [key, isPlain ? text : compileMessage(String(text), language)]
  })
  return Object.fromEntries(compiled)
}

const all = new Map<string, Strings>()

// Teams are few, and parsing their texts takes longer than a page.
const maxTeams = 1000

/** @param ownWords texts of a team that replace built-in ones, as stored */
export function stringsOf({
  language,
  ownWords,
}: {
  language: PageLanguage
  ownWords?: string | null | undefined
}): Strings {
  // A page asks many times with one pair, and a key of a team's texts is long.
  if (language === last?.language && ownWords === last.ownWords) return last.strings
  const strings = readStrings(language, ownWords)
  last = { language, ownWords, strings }
  return strings
}

function readStrings(language: PageLanguage, ownWords: string | null | undefined): Strings {
  const key = ownWords ? `${language} ${ownWords}` : language
  const known = all.get(key)
  if (known) return known
  const made = compile(en, withOwn(messages[language], language, ownWords), language) as Strings
  if (all.size >= maxTeams) all.clear()
  all.set(key, made)
  return made
}

let last: { language: PageLanguage; ownWords: string | null | undefined; strings: Strings } | undefined

function withOwn(texts: Texts, language: PageLanguage, ownWords: string | null | undefined): Texts {
  const own: Record<string, string> = ownWords ? (JSON.parse(ownWords)[language] ?? {}) : {}
  return Object.entries(own).reduce((all, [path, text]) => replaced(all, path.split('.'), text), texts)
}

function replaced(texts: Texts, [key = '', ...rest]: string[], text: string): Texts {
  if (!Object.hasOwn(texts, key)) return texts
  return { ...texts, [key]: rest.length === 0 ? text : replaced(Object(texts[key]), rest, text) }
}

/**
 * @param header `Accept-Language`
 * @returns the reader's preferred language of those that the page has, else English
 */
export function chooseLanguage(header: string | undefined): PageLanguage {
  let best: { language: PageLanguage; weight: number } | undefined
  for (const entry of (header ?? '').slice(0, 500).split(',')) {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    const language = pageLanguages.find((one) => range === one || range.startsWith(`${one}-`))
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
    const weight = quality === undefined ? 1 : Number(quality)
    if (language && weight > (best?.weight ?? 0)) best = { language, weight }
  }
  return best?.language ?? pageLanguages[0]
}
