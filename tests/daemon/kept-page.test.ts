import { expect, test } from 'vitest'
import type { KeptPage } from '../../src/daemon/domain/tap-page/kept.ts'
import { keptPage } from '../../src/daemon/pages/tap/kept.ts'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'

// The page that a mailed link leads to: no chip was there.

const now = new Date('2026-03-01T12:00:00Z')
const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
const settings = {
  language: 'en',
  now,
  nonce: 'n',
  gateways,
  script: undefined,
  home: 'https://taps.example',
} as const

function pageOf(state: string) {
  const shown = samples(now).find((one) => one.state === state)?.shows
  if (!shown || !('page' in shown)) throw new Error(`no sample ${state}`)
  return shown.page
}

function linkOf(state: string, language: (typeof pageLanguages)[number] = 'en') {
  const page = pageOf(state)
  const open = page.actions.filter(({ kind }) => state !== 'two-taps' || kind === 'register')
  return bodyOf({ page, open }, language)
}

const bodyOf = (kept: Pick<KeptPage, 'page' | 'open'>, language: (typeof pageLanguages)[number] = 'en') =>
  keptPage({ ...kept, until: '2026-05-30T12:00:00.000Z' }, 's'.repeat(32), { ...settings, language }).body

test.each(pageLanguages)('says nothing of a chip that is genuine: %s', (language) => {
  const titles = { en: 'genuine', de: 'echt', fr: 'authentique', es: 'auténtico' }
  expect(linkOf('chip-only', language)).not.toMatch(new RegExp(titles[language], 'i'))
})

test('says who loses the piece, and what a wallet is', () => {
  const body = linkOf('everything')
  expect(body).toContain('mira.eth loses it')
  expect(body).toContain('everything that is kept for you goes there')
  expect(body).toContain('What is a wallet?')
})

test('says that two taps move nothing yet', () => {
  const body = linkOf('two-taps')
  expect(body).toContain('Nothing moves yet')
  expect(body).toContain('>Register</button>')
  expect(body).not.toMatch(/goes there|Send it/)
  expect(body).toContain('do not pass it on')
})

test('says of each of several badges where it went', () => {
  const page = pageOf('badge-confirmed')
  const [badge] = page.actions
  if (!badge) throw new Error('no badge')
  const actions = ['Walk', 'Evening'].map((title, id) => ({ ...badge, id, title }))
  const body = bodyOf({ page: { ...page, actions }, open: [] })
  expect(body).toMatch(/>Walk<\/p><p>Done\.[\s\S]*>Evening<\/p><p>Done\./)
})
