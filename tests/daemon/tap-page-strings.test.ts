import { describe, expect, test } from 'vitest'
import { html } from '../../src/daemon/pages/tap/html.ts'
import { compileMessage, parseMessage } from '../../src/daemon/pages/tap/strings/message.ts'
import { messages } from '../../src/daemon/pages/tap/strings/strings.ts'
import { type PageLanguage, pageLanguages } from '../../src/values/page-languages.ts'

const flat = (texts: object, path = ''): [string, string][] =>
  Object.entries(texts).flatMap(([name, text]) =>
    typeof text === 'string' ? [[`${path}${name}`, text] as [string, string]] : flat(text, `${path}${name}.`),
  )
const english = new Map(flat(messages.en))
const placeholders = (text: string) =>
  parseMessage(text)
    .flatMap((part) => (typeof part === 'string' ? [] : `${part.name} ${part.is}`))
    .sort()

/** Texts that are the same in another language. */
const alike = new Set(['Problem: {title}', 'Transaction {hash}'])

describe.each(pageLanguages.map((language) => [language]))('the texts in %s', (language) => {
  const texts = flat(messages[language])

  test('have the keys and placeholders of the English ones', () => {
    expect(texts.map(([key]) => key).sort()).toEqual([...english.keys()].sort())
    const shapes = Object.fromEntries(texts.map(([key, text]) => [key, placeholders(text)]))
    expect(shapes).toEqual(Object.fromEntries([...english].map(([key, text]) => [key, placeholders(text)])))
  })

  test('are none of another language, and have no stray blanks', () => {
    const others = new Set(english.values())
    const same = texts.filter(
      ([, text]) => language !== 'en' && text.length > 12 && others.has(text) && !alike.has(text),
    )
    expect(same).toEqual([])
    expect(texts.filter(([, text]) => text.trim() !== text || / {2}|^$/.test(text))).toEqual([])
  })

  test('have a branch for each plural of the language', () => {
    const needed = new Intl.PluralRules(language).resolvedOptions().pluralCategories
    // French and Spanish have "many" for a million and more.
    const categories = needed.filter((category) => category !== 'many')
    for (const [key, text] of texts)
      for (const part of parseMessage(text))
        if (typeof part !== 'string' && 'branches' in part)
          expect([...part.branches.keys()].sort(), key).toEqual([...categories].sort())
  })
})

/** What each verb is for, and nothing else: where texts may have it. */
const verbs = {
  register: /regist|withdrawn|claim(Step|Later)|summary/,
  claim: /claim|regist|calendar|closed\.kept|collectClaim/i,
  collect: /badge|collect/i,
  sign: /guestbook/,
  keep: /reserve|kept|mail|elsewhere/i,
}
const stems: Record<PageLanguage, Record<keyof typeof verbs, RegExp>> = {
  en: {
    register: /\bregist/i,
    claim: /\bclaim/i,
    collect: /\bcollect/i,
    sign: /\bsign/i,
    keep: /\bke(ep|pt)/i,
  },
  de: {
    register: /vor(ge|zu)?merk|merken .* vor/i,
    claim: /über(nehm|nahm|nomm|nimm)/i,
    collect: /(?<!ver)sammel/i,
    sign: /eintr[aä]g|eingetragen/i,
    keep: /auf(zu)?(ge)?h[eo]b/i,
  },
  fr: {
    register: /enregistr/i,
    claim: /(mett|mise?)\S* .*(à (mon|votre) nom|au nom de)/i,
    collect: /obten/i,
    sign: /\bsign/i,
    keep: /\bgard/i,
  },
  es: {
    register: /registr/i,
    claim: /p[ou][ns]\S* .*a (mi|tu|su) nombre|a nombre de/i,
    collect: /obten|obtu/i,
    sign: /\bfirm/i,
    keep: /guard/i,
  },
}

test.each(pageLanguages.map((language) => [language]))('in %s each verb has one meaning', (language) => {
  const texts = flat(messages[language])
  for (const verb of Object.keys(verbs) as (keyof typeof verbs)[]) {
    const having = texts.filter(([, text]) => stems[language][verb].test(text)).map(([key]) => key)
    expect(having.length, verb).toBeGreaterThan(2)
    expect(
      having.filter((key) => !verbs[verb].test(key)),
      verb,
    ).toEqual([])
  }
  // What a phone does at a chip is said, not called a tap.
  const told = texts.filter(([, text]) =>
    /\btap (it |the chip )?(again|once)|\bscan(nez|nen Sie)|\bescanea\b/i.test(text),
  )
  expect(told).toEqual([])
})

describe('a message', () => {
  const said = (text: string, values: Parameters<ReturnType<typeof compileMessage>>[0]) =>
    compileMessage(text, 'en')(values)

  test('escapes everything except Html', () => {
    const shown = said('<b>{to}</b> & {other}', { to: html`<bdi>${'a<b'}</bdi>`, other: '<i>' })
    expect(html`${shown}`.text).toBe('&lt;b&gt;<bdi>a&lt;b</bdi>&lt;/b&gt; &amp; &lt;i&gt;')
    expect(html`${said('<b>{to}', { to: '<i>' })}`.text).toBe('&lt;b&gt;&lt;i&gt;')
  })

  test('writes numbers, plurals, and dates as the language does', () => {
    const text = '{count, plural, one {one day} other {# days}} from {day, date}'
    expect(said(text, { count: 1, day: '2026-05-02' })).toBe('one day from May 2, 2026')
    expect(said(text, { count: 1200, day: '2026-05-02T23:59:00Z' })).toBe('1,200 days from May 2, 2026')
    expect(compileMessage('{day, date}', 'de')({ day: '2026-05-02' })).toBe('2. Mai 2026')
  })

  test.each([
    ['{to', 'has a { without a }'],
    ['to}', 'has a } without a {'],
    ['{}', 'has {}, which is no placeholder'],
    ['{a b}', 'has {a b}, which is no placeholder'],
    ['{day, date, short}', 'has {day, date, short}, which is no placeholder'],
    ['{count, plural, one {# day}}', 'has a plural of {count} that does not read one {…} other {…}'],
    ['{n, plural, other {# days} x}', 'has a plural of {n} that does not read one {…} other {…}'],
    ['{n, plural, other {{to}}}', 'has a plural of {n} that does not read one {…} other {…}'],
  ])('of %j: %s', (text, problem) => {
    expect(() => parseMessage(text)).toThrow(problem)
  })
})
