import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { samples } from '../../src/daemon/pages/tap/samples.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'
import { openBrowser } from '../support/browser.ts'
import { openChanging } from '../support/page-changes.ts'

// The long suite has every state in every language; each language is here with a part of them.

let browser: Browser
beforeAll(async () => {
  browser = await openBrowser()
})
afterAll(() => browser?.close())

const script = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'), 'utf8')
const now = new Date()
const states = samples(now).filter(({ shows }) => 'page' in shows)

test('nothing that appears moves what can be pressed, or anything else, on a page that is loaded', async () => {
  for (const [index, language] of pageLanguages.entries()) {
    const page = await browser.newPage({ viewport: { width: 390, height: 664 }, isMobile: true })
    const gateways = { ipfs: 'https://ipfs.example', arweave: 'https://arweave.example' }
    const { changeAll } = await openChanging(page, script, { language, nonce: 'x', now, gateways })
    for (const sample of states.filter((_, at) => at % pageLanguages.length === index))
      expect(await changeAll(sample)).toEqual([])
    await page.close()
  }
}, 120_000)
