import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'
import { openBrowser } from '../support/browser.ts'
import { openChanging } from '../support/page-changes.ts'

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

const script = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'), 'utf8')
const now = new Date()
const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
const viewports = [
  { width: 390, height: 664 },
  { width: 320, height: 568 },
]

test.each(
  pageLanguages.flatMap((language) =>
    viewports.map((viewport) => [language, viewport.width, viewport] as const),
  ),
)(
  'in %s, %i pixels wide, nothing that appears in any state moves what can be pressed',
  async (language, _, viewport) => {
    const page = await browser.newPage({ viewport, isMobile: true })
    const { changeAll } = await openChanging(page, script, { language, nonce: 'x', now, gateways })
    for (const sample of samples(now)) expect(await changeAll(sample)).toEqual([])
    await page.close()
  },
)
