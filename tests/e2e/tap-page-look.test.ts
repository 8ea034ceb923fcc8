import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Brand, Piece } from '../../src/daemon/domain/tap-page/content.ts'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import type { PageSettings } from '../../src/daemon/pages/tap/settings.ts'
import { openBrowser } from '../support/browser.ts'

const settings: PageSettings = {
  language: 'en',
  nonce: 'n',
  now: new Date('2026-06-01T12:00:00Z'),
  gateways: { ipfs: 'https://ipfs.example', arweave: 'https://ar.example' },
  script: undefined,
  home: 'https://daemon.example',
}
const brand: Brand = {
  name: 'Acme Outdoor',
  color: null,
  background: null,
  logoUrl: 'https://media.example/wordmark.svg',
}
const picture = (width: number, height: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}" fill="#111"/></svg>`

describe('the look of a tap page', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterAll(() => browser?.close())

  /** Shows a sample with some of its content replaced. */
  async function show<T>(
    state: string,
    overrides: { brand?: Brand; piece?: Piece },
    options: BrowserContextOptions,
    look: (page: Page) => Promise<T>,
  ): Promise<T> {
    const sample = samples(settings.now).find((one) => one.state === state)
    if (!sample) throw new Error(`no sample ${state}`)
    const context = await browser.newContext({ viewport: { width: 390, height: 664 }, ...options })
    try {
      const page = await context.newPage()
      await page.route('**/*', (route) => {
        const { pathname } = new URL(route.request().url())
        if (pathname === '/t')
          return route.fulfill({
            contentType: 'text/html; charset=utf-8',
            body: samplePage(sample, settings, overrides).body,
          })
        const body = pathname.includes('wordmark') ? picture(300, 100) : picture(800, 800)
        return route.fulfill({ contentType: 'image/svg+xml', body })
      })
      await page.goto('https://daemon.example/t')
      await page.waitForLoadState('networkidle')
      return await look(page)
    } finally {
      await context.close()
    }
  }
  const ask = (page: Page, script: string): Promise<unknown> => page.evaluate(script)
  const style = (selector: string, name: string) =>
    `getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`

  test('a wordmark keeps its height, and its arrival moves nothing', async () => {
    await show('claim', { brand }, {}, async (page) => {
      const { width, height } = (await page.locator('.team img').boundingBox()) ?? { width: 0, height: 0 }
      expect(width / height).toBeGreaterThan(2.5)
      expect(height).toBeGreaterThanOrEqual(36)
      expect(await ask(page, 'innerWidth >= document.documentElement.scrollWidth')).toBe(true)
      const shifts = `new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().map((one) => one.value))).observe({ type: 'layout-shift', buffered: true }) ?? setTimeout(() => done([]), 300))`
      expect(await ask(page, shifts)).toEqual([])
    })
  })

  test('a dark logo has a light plate on a dark phone, but not on the background of the team', async () => {
    const plate = (page: Page) => ask(page, style('.team img', 'background-color'))
    const dark = { colorScheme: 'dark' } as const
    for (const state of ['claim', 'replayed'])
      expect(await show(state, { brand }, dark, plate)).toBe('rgb(251, 250, 247)')
    expect(await show('claim', { brand }, {}, plate)).toBe('rgba(0, 0, 0, 0)')
    const own = { ...brand, background: '#10202c' }
    expect(await show('claim', { brand: own }, dark, plate)).toBe('rgba(0, 0, 0, 0)')
  })

  test('title, collection and description in Arabic stand on the same side', async () => {
    const [sample] = samples(settings.now)
    const piece = sample && 'page' in sample.shows ? sample.shows.page.piece : undefined
    if (!piece) throw new Error('no piece')
    const arabic = { ...piece, name: 'سترة ميدانية', collection: 'الخريف', description: 'نُسجت في بييلا.' }
    await show('claim', { piece: arabic }, {}, async (page) => {
      const edges = await ask(
        page,
        `['h1', '.collection', '.said'].map((selector) => {
          const range = document.createRange()
          range.selectNodeContents(document.querySelector(selector))
          return Math.round(range.getBoundingClientRect().right)
        })`,
      )
      const main = `Math.round(document.querySelector('h1').getBoundingClientRect().right)`
      expect(edges).toEqual(Array(3).fill(await ask(page, main)))
    })
  })

  test('on paper, a dark brand is dark ink on white, and what is folded or to be pressed is not in the way', async () => {
    const own = { ...brand, background: '#10202c', color: '#f2c14e' }
    await show('everything', { brand: own }, { colorScheme: 'dark' }, async (page) => {
      await page.emulateMedia({ media: 'print' })
      expect(await ask(page, style('body', 'background-color'))).toBe('rgb(255, 255, 255)')
      for (const selector of ['h1', '.collection', '.said', '.state', '.technical dd', '.grid dd'])
        expect([selector, darkness(String(await ask(page, style(selector, 'color'))))]).toEqual([
          selector,
          true,
        ])
      for (const selector of ['form', 'button', '.links', 'summary'])
        expect(await page.locator(selector).first().isVisible()).toBe(false)
      expect(await page.locator('.technical dd').first().isVisible()).toBe(true)
      expect((await page.pdf({ format: 'A4' })).subarray(0, 4).toString()).toBe('%PDF')
    })
  })

  test('a film is printed as its poster, which is not loaded or shown before', async () => {
    await show('video', {}, {}, async (page) => {
      const poster = page.locator('.hero .poster')
      expect(await poster.isVisible()).toBe(false)
      expect(await page.locator('.hero video').isVisible()).toBe(true)
      await page.emulateMedia({ media: 'print' })
      expect(await page.locator('.hero video').isVisible()).toBe(false)
      await expect.poll(() => ask(page, `document.querySelector('.poster').naturalWidth`)).toBe(800)
      expect(await poster.isVisible()).toBe(true)
    })
  })
})

/** @param color `rgb(…)` */
function darkness(color: string): boolean {
  const [red = 0, green = 0, blue = 0] = [...color.matchAll(/\d+/g)].map(Number)
  return 0.3 * red + 0.6 * green + 0.1 * blue < 130
}
