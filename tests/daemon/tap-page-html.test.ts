import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Piece, TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { actionCards, checkLine } from '../../src/daemon/pages/tap/cards.ts'
import { failurePage } from '../../src/daemon/pages/tap/refusals.ts'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import { contentSecurityPolicy, type PageSettings } from '../../src/daemon/pages/tap/settings.ts'
import { chooseLanguage, messages } from '../../src/daemon/pages/tap/strings/strings.ts'
import { tapPage } from '../../src/daemon/pages/tap/tap-page.ts'
import { palettes } from '../../src/daemon/pages/tap/theme.ts'
import { contrast } from '../../src/values/contrast.ts'
import { type PageLanguage, pageLanguages } from '../../src/values/page-languages.ts'

const now = new Date('2026-05-04T10:00:00Z')
const settings: PageSettings = {
  language: 'en',
  nonce: 'nonce-of-this-answer',
  now,
  gateways: { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' },
  script: 't/assets/page-abc.js',
  home: 'https://taps.example/nfc',
}
const all = samples(now)
const pages = all.flatMap((sample) => ('page' in sample.shows ? [sample.shows.page] : []))
const pageOf = (state: string): TapPage => {
  const found = all.find((sample) => sample.state === state)
  if (!found || !('page' in found.shows)) throw new Error(`no sample ${state}`)
  return found.shows.page
}
/** With every text in place of the piece's own. */
const withTexts = (page: TapPage, text: string, url = text): TapPage => {
  const piece: Piece = {
    ...page.piece,
    name: text,
    collection: text,
    description: text,
    image: url,
    video: undefined,
    gallery: [{ url, mimeType: text }],
    attributes: [{ name: text, value: text }],
    edition: text,
    token: { chainId: 1, chainName: text, contractAddress: text, tokenId: text, url },
    owner: { address: text, name: text },
  }
  return {
    ...page,
    piece,
    query: text,
    brand: { ...page.brand, name: text, logoUrl: url },
    links: [{ label: text, url }],
    actions: page.actions.map((action) => ({
      ...action,
      title: text,
      description: text,
      imageUrl: url,
      state:
        'recipient' in action.state || action.state.is === 'open'
          ? {
              ...action.state,
              recipient: text,
              ...('transaction' in action.state ? { transaction: { hash: text, url } } : {}),
            }
          : action.state,
    })),
  } as TapPage
}

/** Elements with the names of their attributes. */
const elements = (body: string): string[] =>
  [...body.matchAll(/<([a-z0-9]+)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*>/g)].map(
    ([, name, attributes = '']) => `${name} ${attributes.replace(/="[^"]*"/g, '')}`,
  )

describe('the tap page as HTML', () => {
  test.each(all.map((sample) => [sample.state, sample] as const))(
    '%s is whole in every language, small, and says what to do',
    (_, sample) => {
      for (const language of pageLanguages) {
        const { body } = samplePage(sample, { ...settings, language })
        expect(body).toMatch(new RegExp(`^<!doctype html>\\n<html lang="${language}" dir="ltr">`))
        expect(Buffer.byteLength(body)).toBeLessThan(30_000)
        expect(gzipSync(body).length).toBeLessThan(12_000)
        expect(body).not.toMatch(/undefined|\[object|NaN|Invalid Date/)
        expect(body.match(/<h1\b/g)).toHaveLength(1)
        expect(body.match(/ id="([^"]*)"/g)?.length ?? 0).toBe(new Set(body.match(/ id="([^"]*)"/g)).size)
        // Text stands before anything that has to be loaded.
        expect(body.indexOf('</style>')).toBeLessThan(20_000)
      }
    },
  )

  test('every card has one place for its result, and each open one a form with one field and one button', () => {
    for (const page of pages)
      for (const { key, html } of actionCards({ ...page, collected: undefined }, settings)) {
        expect(html).toContain(`data-card="${key}"`)
        if (key === 'owner' || key === 'time') continue
        expect(html.match(/role="status"/g), html).toHaveLength(1)
        if (key === 'reserve-0') continue
        const action = page.actions.find(({ kind, id }) => key === `${kind}-${id}`)
        // Nothing is offered where there is nothing to press.
        if (action?.state.is === 'closed') expect(html).not.toContain(messages.en.titles[action.kind])
        const isOpen = action?.state.is === 'open'
        if (!isOpen && action?.state.is !== 'registered') expect(html).not.toContain('<form')
        if (!isOpen) continue
        expect(
          html.match(
            new RegExp(`<form data-action="${action.kind}" method="post" action="/nfc/t/act#${key}-status"`),
          ),
        ).not.toBeNull()
        expect(html.match(/type="submit"/g)).toHaveLength(1)
        expect(html).toContain(`<label id="${key}-label" for="${key}-recipient">`)
        expect(html).toContain(`name="ref" value="${page.ref}"`)
        expect(html.includes('name="deviceId"')).toBe(action.kind === 'badge')
      }
    const states = pages.flatMap((page) => actionCards(page, settings).map(({ html }) => html)).join()
    expect(new Set(states.match(/data-state="\w+"/g))).toEqual(
      new Set(['data-state="pending"', 'data-state="confirmed"', 'data-state="failed"']),
    )
  })

  test('a page that is loaded again says how long ago the chip was here', () => {
    const said = (seconds: number, language: PageLanguage = 'en') => {
      const tappedAt = new Date(now.getTime() - seconds * 1000).toISOString()
      const { body } = tapPage({ ...pageOf('claim'), tappedAt }, { ...settings, language })
      return /<p class="state".*?<\/span> (?:<span[^>]*>)*(.*?)</.exec(body)?.[1]
    }
    expect([said(0), said(59), said(60), said(3000), said(7200), said(60, 'de')]).toEqual([
      'Genuine, tapped just now',
      'Genuine, tapped just now',
      'Genuine, tapped one minute ago',
      'Genuine, tapped 50 minutes ago',
      'Genuine, tapped 2 hours ago',
      'Echt, gescannt vor einer Minute',
    ])
  })

  test('no text makes an element or an attribute, wherever it stands', () => {
    const nasty = `"'><script>alert(1)</script><img src=x onerror=alert(1)></style><svg onload=x>`
    for (const page of pages) {
      const plain = tapPage(withTexts(page, 'plain text'), settings).body
      const { body } = tapPage(withTexts(page, nasty), settings)
      expect(elements(body)).toEqual(elements(plain))
      expect(body.match(/<script|<\/style>|<svg/g)).toEqual(['</style>', '<script'])
    }
    const bad = {
      is: 'good',
      kind: 'badge',
      recipient: { is: 'name', address: undefined, name: nasty },
      isMint: false,
    } as const
    expect(checkLine(bad, settings)).toContain('&lt;script&gt;')
    expect(checkLine(bad, settings)).not.toMatch(/<script|<img/)
  })

  test.each([
    'javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:image/svg+xml,<svg/>',
    'http://media.example/a.png',
    'https://user:secret@media.example/a.png',
    '//media.example/a.png',
    '/t/act',
    'ipfs://../../evil',
    'ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG/../../../evil',
    'vbscript:x',
    'blob:https://media.example/1',
    'file:///etc/passwd',
  ])('%j is loaded from nowhere, and media leads only where it may', (url) => {
    for (const page of pages) {
      const { body } = tapPage(withTexts(page, 'plain', url), settings)
      const loaded = [...body.matchAll(/ (?:src|poster)="([^"]*)"/g)].map(([, found]) => found)
      expect(loaded).toEqual(['/nfc/t/assets/page-abc.js'])
      for (const [, href = ''] of body.matchAll(/<a [^>]*href="([^"]*)"/g))
        expect(href).toMatch(/^(https?|ipfs):\/\/[^@]*$|^#[a-z]+(-\d+)?-label$/)
    }
  })

  test('IPFS, Arweave, and pictures of the daemon itself are shown', () => {
    const cid = 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'
    const shown = (url: string) =>
      / src="([^"]*)" alt/.exec(tapPage(withTexts(pageOf('chip-only'), 'x', url), settings).body)?.[1]
    expect(shown(`ipfs://${cid}/a b.png`)).toBe(`https://ipfs.example/ipfs/${cid}/a%20b.png`)
    expect(shown(`ipfs://ipfs/${cid}`)).toBe(`https://ipfs.example/ipfs/${cid}`)
    expect(shown(`ar://${'a'.repeat(43)}/1.png`)).toBe(`https://arweave.example/${'a'.repeat(43)}/1.png`)
    expect(shown('https://media.example/a.png?x=1&y=2')).toBe('https://media.example/a.png?x=1&amp;y=2')
    expect(shown('https://taps.example/nfc/images/3.png')).toBe('/nfc/images/3.png')
    // Not as //evil.example, which is another host.
    const atRoot = { ...settings, home: 'https://taps.example' }
    const there = withTexts(pageOf('chip-only'), 'x', 'https://taps.example//evil.example/a.png')
    expect(tapPage(there, atRoot).body).toContain(' src="https://taps.example//evil.example/a.png" alt')
  })

  test('rich metadata stays within the first view, and the largest within ten times as much', () => {
    const sized = (text: string, count: number, length: number) => {
      const page = withTexts(pageOf('everything'), text, `https://media.example/${'y'.repeat(60)}`)
      page.query = 'e=1&c=2'
      page.piece.attributes = Array.from({ length: count }, () => ({
        name: 'Trait',
        value: 'z'.repeat(length),
      }))
      page.piece.gallery = Array.from(
        { length: count },
        () => page.piece.gallery[0] ?? { url: '', mimeType: '' },
      )
      return Buffer.byteLength(tapPage(page, settings).body)
    }
    expect(sized('A name of some length & more', 30, 80)).toBeLessThan(30_000)
    expect(sized('"'.repeat(100_000), 500, 100_000)).toBeLessThan(500_000)
  })

  test.each([
    [undefined, 'en'],
    ['de-DE,de;q=0.9,en;q=0.8', 'de'],
    ['it-IT, en;q=0.7, de;q=0.3', 'en'],
    ['it, fr-CA;q=0.9, en;q=0.8', 'fr'],
    ['es-419', 'es'],
    ['it', 'en'],
    ['DE-at', 'de'],
    ['de;q=0, en', 'en'],
    ['en;q=0.5, de;q=x', 'en'],
    ['*', 'en'],
    [`${'x,'.repeat(5000)}de`, 'en'],
  ])('of %j it chooses %s', (header, language) => {
    expect(chooseLanguage(header)).toBe(language)
  })

  test("text can be read in any team's colours, by WCAG 2.2 AA", () => {
    const steps = ['00', '33', '66', '99', 'cc', 'ff']
    const colors = steps.flatMap((r) => steps.flatMap((g) => steps.map((b) => `#${r}${g}${b}`)))
    for (const [index, color] of colors.entries()) {
      const background = index % 3 === 0 ? null : (colors[(index * 89) % colors.length] ?? null)
      for (const look of Object.values(palettes({ color, background })))
        for (const paper of [look.paper, look.card]) {
          for (const text of [look.ink, look.soft, look.accent, look.bad])
            expect(contrast(text, paper), `${text} on ${paper}`).toBeGreaterThanOrEqual(4.5)
          expect(contrast(look.edge, paper)).toBeGreaterThanOrEqual(3)
          expect(contrast(look.onButton, look.button)).toBeGreaterThanOrEqual(4.5)
        }
    }
  })

  test('the waiting time of a failure is said, and no text of the interface', () => {
    const { body } = failurePage({ status: 429, code: 'rate_limited', retryAfterSeconds: 42 }, settings)
    expect(body).toContain('Try again in about 42 seconds.')
    expect(
      failurePage({ status: 429, retryAfterSeconds: 200 }, { ...settings, language: 'de' }).body,
    ).toContain('in etwa 4 Minuten')
    const page = pageOf('claim-failed')
    const failure = { code: 'never_heard_of' }
    const actions = page.actions.map((action) => ({ ...action, state: { is: 'failed' as const, failure } }))
    const shown = tapPage({ ...page, actions }, settings).body
    expect(shown).toContain('That did not work.')
    expect(shown).not.toContain('never_heard_of')
    expect(contentSecurityPolicy('abc')).toMatch(
      /^default-src 'none'; script-src 'nonce-abc'; style-src 'nonce-abc'/,
    )
  })
})
