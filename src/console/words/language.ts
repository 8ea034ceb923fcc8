/** The browser's language, of those that there are. */
export const language: 'en' | 'de' = /^de\b/i.test(navigator.language) ? 'de' : 'en'

/** For numbers and times: with the browser's region, as for hours of the day. */
export const locale = navigator.languages.find((one) => one.toLowerCase().startsWith(language)) ?? language

/** The same words in another language: texts stay texts, functions keep what they take. */
type Translated<W> = {
  readonly [K in keyof W]: W[K] extends (...input: infer A) => string
    ? (...input: A) => string
    : W[K] extends string
      ? string
      : Translated<W[K]>
}

/** Words of a screen or part in the browser's language. `de` has to have whatever `en` has. */
export const inLanguage = <const W>(en: W & Translated<W>, de: Translated<W>): Translated<W> =>
  language === 'de' ? de : en

const numbers = new Intl.NumberFormat(locale)
const shortNumbers = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })

export const formatNumber = (value: number): string => numbers.format(value)
/** 1.2M. */
export const formatShort = (value: number): string =>
  value < 10_000 ? numbers.format(value) : shortNumbers.format(value)

/** "1 tap", "2 taps". */
export const counted = (count: number, one: string, many: string): string =>
  `${formatNumber(count)} ${count === 1 ? one : many}`
