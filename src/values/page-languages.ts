/**
 * Languages of tap pages, the default first. The choice by `Accept-Language`, `--lang`, previews, tests, and what
 * `pages strings` takes follow from this list.
 */
export const pageLanguages = ['en', 'de', 'fr', 'es'] as const
export type PageLanguage = (typeof pageLanguages)[number]

export const textDirections: Readonly<Record<PageLanguage, 'ltr' | 'rtl'>> = {
  en: 'ltr',
  de: 'ltr',
  fr: 'ltr',
  es: 'ltr',
}
