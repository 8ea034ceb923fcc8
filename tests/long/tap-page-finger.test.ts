import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
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

test('the row of an owner is as high while its address is known alone', async () => {
  const page = await browser.newPage({ viewport: { width: 320, height: 568 }, isMobile: true })
  const address = '0x52908400098527886E0F7030069857D2E4169EE7'
  const own = {
    language: 'en',
    nonce: 'x',
    now,
    gateways,
    home: 'https://taps.example',
    script: undefined,
  } as const
  const heights: number[] = []
  const shown = samples(now).find(({ state }) => state === 'claim')
  if (!shown || !('page' in shown.shows)) throw new Error('there is no sample of a claim')
  const { piece } = shown.shows.page
  for (const owner of [undefined, { address, name: undefined }, { address, name: 'bob.eth' }]) {
    // An edition beside it would keep the row as high as a name is.
    const content = { ...shown.shows.page, piece: { ...piece, owner, edition: undefined } }
    await page.setContent(samplePage({ ...shown, shows: { page: content } }, own).body)
    heights.push((await page.locator('.facts').boundingBox())?.height ?? 0)
  }
  expect(new Set(heights).size).toBe(1)
  await page.close()
})
