import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keptPage } from '../../src/daemon/pages/tap/kept.ts'
import { keptRefusal } from '../../src/daemon/pages/tap/refusals.ts'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import type { PageSettings } from '../../src/daemon/pages/tap/settings.ts'
import { type PageLanguage, pageLanguages } from '../../src/values/page-languages.ts'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'

// What keeping a piece by e-mail looks like on the smallest phone, in every language.

const now = new Date('2026-03-01T12:00:00Z')
const secret = 'a'.repeat(32)
const until = '2026-05-30T12:00:00.000Z'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
}, 60_000)
afterAll(() => browser?.close())

function pagesIn(language: PageLanguage): [state: string, body: string][] {
  const settings: PageSettings = {
    ...{ language, now, nonce: 'n', script: undefined, home: 'https://daemon.example' },
    gateways: { ipfs: 'https://ipfs.example', arweave: 'https://ar.example' },
  }
  const all = samples(now)
  const shown = all.find(({ state }) => state === 'claim')?.shows
  if (!shown || !('page' in shown)) throw new Error('there is no sample of a claim')
  const { page } = shown
  const kept = { page, until, open: page.actions }
  const wrong = { ...kept, recipient: 'nobody', failure: { code: 'recipient_invalid' } }
  return [
    ...all
      .filter(({ state }) => state.startsWith('reserve'))
      .map((one): [string, string] => [one.state, samplePage(one, settings).body]),
    ['link', keptPage(kept, secret, settings).body],
    ['link-refused', keptPage(wrong, secret, settings).body],
    ['link-ended', keptRefusal('ended', settings).body],
    ['link-unknown', keptRefusal('unknown', settings).body],
  ]
}

test.each(pageLanguages)(
  'fits 320 × 568, and axe finds nothing: %s',
  async (language) => {
    const context = await browser.newContext({ viewport: { width: 320, height: 568 } })
    const page = await context.newPage()
    await page.route('**/*', (route) => route.abort())
    const found: string[] = []
    for (const [state, body] of pagesIn(language)) {
      await page.setContent(body)
      for (const details of await page.locator('details:has(form)').all()) await details.click()
      for (const finding of await audit(page)) found.push(`${state}: ${finding}`)
      const wide = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
      if (Number(wide) > 0) found.push(`${state}: ${wide} px too wide`)
      for (const control of await page
        .locator('form[data-action^="reserve"] :is(button, .field input), form[data-action="kept"] button')
        .all()) {
        const box = await control.boundingBox()
        if (box && box.height < 44) found.push(`${state}: a control of ${box.height} px`)
      }
    }
    expect(found).toEqual([])
    await context.close()
  },
  240_000,
)
