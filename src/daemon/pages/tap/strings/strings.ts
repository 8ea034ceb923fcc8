import { type PageLanguage, pageLanguages } from '../../../../values/page-languages.ts'
import { de } from './de.ts'
import { en, type Strings } from './en.ts'

export type { Strings } from './en.ts'

const all: Record<PageLanguage, Strings> = { en, de }

export const stringsOf = (language: PageLanguage): Strings => all[language]

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
