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
  { width: 1440, height: 900 },
  { width: 664, height: 390 },
]

// These run in the page.
const functions = `
  const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  const isInside = (element) => {
    const { top, bottom, left, right, height } = element.getBoundingClientRect()
    return height > 0 && top >= -0.5 && left >= -0.5 && bottom <= innerHeight + 0.5 && right <= innerWidth + 0.5
  }
  /** At least its upper part. */
  const isHit = (element) => {
    const { top, left, width } = element.getBoundingClientRect()
    return [4, 20].every((y) => element.contains(document.elementFromPoint(left + width / 3, top + y)))
  }
  const canPress = (element) => isInside(element) && isHit(element)
  const form = document.querySelector('form[data-action]')
  const inside = [...form.querySelectorAll('.field input, [type=submit]')].slice(-2)
  const barToPress = () => [...document.querySelectorAll('.bar a')].find((link) => isInside(link.parentElement) && isHit(link))`

const firstLook = `(async () => {${functions}
  history.replaceState(null, '', location.pathname)
  scrollTo(0, 0)
  await frames()
  const said = { picture: '.hero > *', name: 'h1', owner: '[data-card=owner]:not([hidden]) dd' }
  const missing = Object.entries(said).flatMap(([name, which]) => {
    const element = document.querySelector(which)
    const isThere = element === null ? name === 'owner' && document.querySelector('[data-card=owner][hidden]') : isInside(element)
    return isThere ? [] : [name]
  })
  if (inside.every(canPress) || barToPress()) return missing
  return [...missing, 'field and button, or a bar that leads to them']
})()`

const leads = `(async () => {${functions}
  const bar = barToPress()
  if (!bar) return []
  bar.click()
  await frames()
  return inside.every(canPress) ? [] : ['after a press of the bar, the field and the button']
})()`

test.each(pageLanguages.map((language) => [language]))(
  'in %s, the first screen has picture, name, owner, and the first field and button or a bar that leads there',
  async (language) => {
    const page = await browser.newPage()
    const { show } = await openChanging(page, script, { language, nonce: 'x', now, gateways })
    const missing: string[] = []
    let states = 0
    for (const sample of samples(now)) {
      if (!('page' in sample.shows)) continue
      await show(sample)
      if ((await page.locator('form[data-action]').count()) === 0) continue
      states += 1
      for (const viewport of viewports) {
        await page.setViewportSize(viewport)
        const found = [
          ...(await page.evaluate<string[]>(firstLook)),
          ...(await page.evaluate<string[]>(leads)),
        ]
        missing.push(...found.map((what) => `${sample.state}, ${viewport.width}×${viewport.height}: ${what}`))
      }
    }
    expect(missing).toEqual([])
    expect(states).toBeGreaterThan(15)
    await page.close()
  },
)

const said = `(() => {${functions.split('const canPress')[0]}
  return [...document.querySelectorAll('h1, .state, h1 + p')].flatMap((element) =>
    isInside(element) ? [] : [element.textContent])
})()`

test.each(pageLanguages.map((language) => [language]))(
  'in %s, a page that is no piece’s says on its first screen what is wrong, and what next',
  async (language) => {
    const page = await browser.newPage()
    const { show } = await openChanging(page, script, { language, nonce: 'x', now, gateways })
    const missing: string[] = []
    for (const sample of samples(now).filter(({ shows }) => !('page' in shows)))
      for (const viewport of viewports) {
        await page.setViewportSize(viewport)
        await show(sample)
        const found = await page.evaluate<string[]>(said)
        missing.push(...found.map((what) => `${sample.state}, ${viewport.width}×${viewport.height}: ${what}`))
      }
    expect(missing).toEqual([])
    await page.close()
  },
)

const blankCards = `[...document.querySelectorAll('.card:not(:has(form)):not(:has([data-state=pending]))')].flatMap((card) => {
  const bottoms = [...card.querySelectorAll('p, button')].map((element) => element.getBoundingClientRect().bottom)
  const blank = card.getBoundingClientRect().bottom - Math.max(...bottoms)
  return blank > 60 ? [card.dataset.card + ' ' + blank] : []
})`

test('a card without anything to press is no higher than what it says', async () => {
  for (const language of pageLanguages) {
    const page = await browser.newPage({ viewport: { width: 320, height: 568 } })
    const { show } = await openChanging(page, script, { language, nonce: 'x', now, gateways })
    for (const sample of samples(now)) {
      await show(sample)
      expect([sample.state, await page.evaluate(blankCards)]).toEqual([sample.state, []])
    }
    await page.close()
  }
})
