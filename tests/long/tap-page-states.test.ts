import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { TapPage } from '../../src/daemon/domain/tap-page/content.ts'
import { type Sample, samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import { contentSecurityPolicy } from '../../src/daemon/pages/tap/settings.ts'
import { stringsOf } from '../../src/daemon/pages/tap/strings/strings.ts'
import { genuineSince } from '../../src/daemon/pages/tap/times.ts'
import { type PageLanguage, pageLanguages } from '../../src/values/page-languages.ts'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'

const script = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'), 'utf8')
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="600"><rect width="800" height="600" fill="#9ab"/></svg>'
const home = 'https://taps.example'
const now = new Date()
const long = 'x'.repeat(1000)
const arabic = 'سترة ميدانية منسوجة من الصوف المعاد تدويره. '

const states = samples(now)
const everything = states.flatMap(({ state, shows }) =>
  state === 'everything' && 'page' in shows ? [shows.page] : [],
)[0] as TapPage

/** Every text as long as can be, or from right to left. */
const written = (state: string, text: string): Sample => {
  const { piece, brand } = everything
  const page: TapPage = {
    ...everything,
    brand: { ...brand, name: text },
    piece: {
      ...piece,
      name: text,
      collection: text,
      description: text.repeat(3),
      edition: text,
      attributes: [{ name: text, value: text }],
      owner: { address: piece.owner?.address ?? '', name: text },
    },
    actions: everything.actions.map((action) => ({ ...action, title: text, description: text })),
    links: [{ label: text, url: 'https://acme.example' }],
  }
  return { state, status: 200, shows: { page } }
}
const branded = (state: string, color: string, background: string | null): Sample => ({
  state,
  status: 200,
  shows: { page: { ...everything, brand: { ...everything.brand, color, background } } },
})
const all = [
  ...states,
  written('long-words', long),
  written('right-to-left', arabic),
  branded('brand-by-day', '#b0005c', '#ffe3f1'),
  branded('brand-by-night', '#ff5c00', '#101030'),
  branded('brand-between', '#222222', '#5b8def'),
]

interface Look {
  language: PageLanguage
  colorScheme: 'light' | 'dark'
  width: number
  /** In percent, as a reader's own setting would enlarge it. */
  textSize: number
}

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

// These run in the page.
const openDetails = `for (const details of document.querySelectorAll('details')) details.open = true`
const outside = `[...document.querySelectorAll('html, body *')]
  .filter((element) => {
    if (element.closest('.gallery')) return false
    const { left, right, width } = element.getBoundingClientRect()
    return width > 0 && (left < -1 || right > innerWidth + 1 || (element.tagName === 'HTML' && element.scrollWidth > innerWidth))
  })
  .map((element) => 'outside: ' + element.outerHTML.slice(0, 100))`

async function phone({ width, colorScheme, language, textSize }: Look) {
  const bodies = new Map<string, string>()
  const refusedByPolicy: string[] = []
  const page = await browser.newPage({ viewport: { width, height: 844 }, colorScheme })
  onTestFinished(() => page.close())
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) refusedByPolicy.push(message.text())
  })
  await page.route('**/*', (route) => {
    const { hostname, pathname } = new URL(route.request().url())
    if (hostname === 'gone.example') return route.fulfill({ status: 404 })
    if (hostname !== 'taps.example') return route.fulfill({ contentType: 'image/svg+xml', body: picture })
    if (pathname === '/t/assets/page.js')
      return route.fulfill({ contentType: 'text/javascript', body: script })
    const body = bodies.get(pathname)
    if (body === undefined)
      return route.fulfill({ contentType: 'application/json', body: '{"cards":[],"isLive":false}' })
    return route.fulfill({
      contentType: 'text/html; charset=utf-8',
      headers: { 'content-security-policy': contentSecurityPolicy('nonce') },
      body,
    })
  })
  async function show(sample: Sample): Promise<void> {
    const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
    const settings = { language, nonce: 'nonce', now, gateways, script: 't/assets/page.js', home }
    const { body } = samplePage(sample, settings)
    // As a language would that is written so.
    const turned = sample.state === 'right-to-left' ? body.replace('dir="ltr"', 'dir="rtl"') : body
    bodies.set(`/${sample.state}`, turned.replace('<style nonce="nonce">', `$&html{font-size:${textSize}%}`))
    await page.goto(`${home}/${sample.state}`, { waitUntil: 'load' })
  }
  return { page, show, refusedByPolicy }
}

/** axe finds nothing by WCAG 2.2 A and AA, nothing sticks out of the screen, and the page's own policy refuses nothing. */
async function expectAccessible(states: readonly Sample[], look: Look): Promise<void> {
  const { page, show, refusedByPolicy } = await phone(look)
  for (const sample of states) {
    await show(sample)
    await page.evaluate(openDetails)
    const found = [...(await audit(page)), ...(await page.evaluate<string[]>(outside))]
    expect([sample.state, found]).toEqual([sample.state, []])
  }
  expect(refusedByPolicy).toEqual([])
}

const half = (remainder: number) => all.filter((_, index) => index % 2 === remainder)
const byDay: Look = { language: 'en', colorScheme: 'light', width: 390, textSize: 100 }

// The long suite lets axe judge each state in each look.
test('every other state is accessible, and stays inside the screen, by day on a phone', () =>
  expectAccessible(half(0), byDay))

test('every other state is accessible, and stays inside the screen, at night on a narrow one with doubled text', () =>
  expectAccessible(half(1), { language: 'de', colorScheme: 'dark', width: 320, textSize: 200 }))

test.each(pageLanguages.map((language) => [language]))(
  'in %s, every state stays inside the narrowest screen, and offers what it offers in English',
  async (language) => {
    const { page, show } = await phone({ ...byDay, language, width: 320 })
    const { page: other, show: showOther } = await phone({ ...byDay, width: 320 })
    const shape = `[...document.querySelectorAll('main *')].map(({ localName }) => localName).join(' ')`
    for (const sample of states) {
      await show(sample)
      await showOther(sample)
      await page.evaluate(openDetails)
      expect([sample.state, await page.evaluate(outside)]).toEqual([sample.state, []])
      expect(await page.evaluate(shape), sample.state).toBe(await other.evaluate(shape))
    }
  },
)

test('a picture that is gone leaves its name in a box as large, and nothing moves when pictures arrive or fail', async () => {
  const { page, show } = await phone(byDay)
  await page.addInitScript(`window.shifts = 0
    new PerformanceObserver((list) => { for (const { value } of list.getEntries()) shifts += value })
      .observe({ type: 'layout-shift', buffered: true })`)
  const sizes = () =>
    page.evaluate<
      number[][]
    >(`[...document.querySelectorAll('.hero, .gallery li, .artwork')].map((element) => {
      const { width, height } = element.getBoundingClientRect()
      return [width, height]
    })`)
  await show({ state: 'there', status: 200, shows: { page: everything } })
  const usual = await sizes()
  const gone = JSON.parse(JSON.stringify(everything).replaceAll('media.example', 'gone.example')) as TapPage
  await show({ state: 'gone', status: 200, shows: { page: gone } })
  await page.locator('.hero .broken', { hasText: everything.piece.name ?? '' }).waitFor()
  await page.locator('.gallery').scrollIntoViewIfNeeded()
  await page.locator('.gallery .broken').first().waitFor()
  expect(await page.locator('.hero img').count()).toBe(0)
  expect(await sizes()).toEqual(usual)
  expect(await page.evaluate('shifts')).toBeLessThan(0.01)
})

test('a page that stays open says that the tap is over a minute old', async () => {
  const { page, show } = await phone(byDay)
  await page.clock.install()
  await show({ state: 'open', status: 200, shows: { page: everything } })
  const sentence = page.locator('header .state')
  expect(await sentence.textContent()).toContain('just now')
  await page.clock.fastForward(30_000)
  expect(await sentence.textContent()).toContain('just now')
  await page.clock.fastForward(31_000)
  expect(await sentence.textContent()).toContain('more than a minute ago')
})

test.each(pageLanguages.map((language) => [language]))(
  'in %s, a page that stays open for 25 minutes says so as one that is loaded then, and counts down what is left',
  async (language) => {
    const { page, show } = await phone({ ...byDay, language })
    await page.clock.install({ time: now })
    await show({ state: 'open', status: 200, shows: { page: everything } })
    await page.clock.fastForward('25:00')
    const sentence = page.locator('header .state')
    expect(await sentence.textContent()).toContain(genuineSince(25, stringsOf({ language })))
    // The samples have 29 minutes.
    expect(await page.locator('[data-card=time] [data-until]').textContent()).toMatch(/^(4:00|3:5\d)$/)
  },
)

test.each([
  ['without a blank', long],
  ['of many words', 'Field jacket of the season '.repeat(40)],
  ['from right to left', arabic.repeat(20)],
])('a certificate with texts %s fills one page', async (_, text) => {
  const { page, show } = await phone({ ...byDay, width: 680 })
  const confirmed = states.flatMap(({ state, shows }) =>
    state === 'claim-confirmed' && 'page' in shows ? [shows.page] : [],
  )[0] as TapPage
  const { piece, brand } = confirmed
  const token = piece.token && { ...piece.token, chainName: text, tokenId: '9'.repeat(78) }
  await show({
    state: 'certificate',
    status: 200,
    shows: {
      page: {
        ...confirmed,
        brand: { ...brand, name: text },
        piece: { ...piece, name: text, edition: text, collection: text, token },
      },
    },
  })
  await page.emulateMedia({ media: 'print' })
  for (const format of ['A4', 'Letter']) {
    const pdf = (await page.pdf({ format })).toString('latin1')
    expect(pdf.match(/\/Type \/Page\b/g), format).toHaveLength(1)
  }
  expect(
    await page.evaluate(`document.querySelector('.kept figure').clientWidth / innerWidth`),
  ).toBeGreaterThan(0.9)
  expect(await page.evaluate(`document.querySelector('.kept figure img').clientHeight`)).toBeGreaterThan(100)
})
