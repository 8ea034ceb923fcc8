import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { samplePage, samples } from '../../src/daemon/pages/tap/samples.ts'
import { pageLanguages } from '../../src/values/page-languages.ts'
import { audit } from '../support/axe.ts'
import { openPhones, type Phones } from '../support/phone.ts'
import { action, bob, chips, phoneAt, startTapPages, type TapPages } from '../support/tap-page.ts'

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  ;[daemon, phones] = await Promise.all([startTapPages(), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const newPhone = (options?: Parameters<Phones['phone']>[0], at = daemon) => phoneAt(at, phones, options)

const settings = {
  nonce: 'x',
  gateways: { ipfs: 'https://ipfs.io', arweave: 'https://arweave.net' },
  script: undefined,
  home: 'https://tap.example',
}

/** Notes each shift of the layout, from the start of each page. */
const watchShifts = `
  window.shifted = []
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (!entry.hadRecentInput)
        window.shifted.push([entry.value, ...entry.sources.map(({ node }) => node?.outerHTML?.slice(0, 80))])
  }).observe({ type: 'layout-shift', buffered: true })`
const shiftOf = (page: Page) =>
  page.evaluate<number>('window.shifted.reduce((sum, [value]) => sum + value, 0)')

test('the first answer is enough to read; nothing that comes later moves it', async () => {
  const phone = await newPhone()
  await phone.context.addInitScript(watchShifts)
  const held: (() => Promise<void>)[] = []
  const release = async () => {
    for (const go of held.splice(0)) await go()
  }
  // Neither the script nor a picture arrives before the text is painted.
  let isHeld = true
  await phone.context.route(/assets|img\.acme/, async (route) => {
    if (isHeld) held.push(() => route.fallback())
    else await route.fallback()
  })
  const page = await phone.context.newPage()
  const slow = await phone.context.newCDPSession(page)
  await slow.send('Network.enable')
  await slow.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 400,
    downloadThroughput: 50_000,
    uploadThroughput: 50_000,
  })
  await page.goto(daemon.tapUrl(chips.jacket(1)), { waitUntil: 'commit' })
  await page.locator('h1').waitFor()
  await expect
    .poll(() => page.evaluate(`performance.getEntriesByName('first-contentful-paint').length`))
    .toBe(1)
  await expect.poll(() => held.length).toBeGreaterThan(1)
  isHeld = false
  await release()
  await page.waitForLoadState('load')
  await expect.poll(() => page.locator('[data-owner]').textContent()).toMatch(/alice\.eth|0x8f/i)
  expect(await shiftOf(page), JSON.stringify(await page.evaluate('window.shifted'))).toBeLessThan(0.01)
  // It would have been noticed.
  await page.evaluate(`document.querySelector('h1').style.paddingTop = '200px'`)
  await expect.poll(() => shiftOf(page)).toBeGreaterThan(0.01)
  // It works at that speed as well.
  await action(page, 'claim').send(bob)
  await action(page, 'claim').is('confirmed')
})

test('two chips in one browser at once: each page is of its own chip', async () => {
  const phone = await newPhone()
  const [one, two] = await Promise.all([phone.tap(chips.jacket(2)), phone.tap(chips.unminted(1))])
  await Promise.all([action(one, 'claim').send('bob.eth'), action(two, 'claim').send('alice.eth')])
  await Promise.all([action(one, 'claim').is('confirmed'), action(two, 'claim').is('confirmed')])
  await Promise.all([one.reload(), two.reload()])
  expect(await one.locator('h1').textContent()).toBe('Jacket #2')
  // Its item has become a token.
  expect(await two.locator('[data-owner]').textContent()).toMatch(/alice\.eth|0x8f3c/i)
  await Promise.all([action(one, 'claim').is('confirmed'), action(two, 'claim').is('confirmed')])
})

test('a stream whose beginning never comes is given up for asking', async () => {
  const phone = await newPhone()
  await phone.context.route(/\/t\/live$/, (route) =>
    // As a proxy does that collects answers before it passes them on.
    route.request().headers().accept === 'text/event-stream' ? undefined : route.continue(),
  )
  const page = await phone.tap(chips.jacket(4))
  await action(page, 'claim').send(bob)
  await action(page, 'claim').is('confirmed')
})

test('without JavaScript, two taps are two forms, and two tabs that press at once do one thing', async () => {
  const phone = await newPhone({ javaScriptEnabled: false })
  const first = await phone.tap(chips.art(1))
  await action(first, 'register').send(bob)
  await first.waitForURL(/\/t\?/)
  await action(first, 'register').is('confirmed')
  const url = daemon.tapUrl(chips.art(1))
  const [one, two] = [await phone.open(url), await phone.open(url)]
  for (const tab of [one, two])
    await expect
      .poll(async () => {
        await tab.reload()
        return action(tab, 'claim').button.isEnabled()
      })
      .toBe(true)
  await Promise.all([one, two].map((tab) => action(tab, 'claim').button.tap()))
  for (const tab of [one, two]) {
    await tab.waitForURL(/\/t\?/)
    await expect
      .poll(async () => {
        await tab.reload()
        return action(tab, 'claim').status.getAttribute('data-state')
      })
      .toBe('confirmed')
    expect(await tab.locator('[data-owner]').textContent()).toMatch(/bob\.eth|0xde70/i)
  }
})

test('when the time is over, the page says so by itself, and so does its URL', async () => {
  const brief = await startTapPages({ TAPCHIP_REF_TTL_SECONDS: '4', TAPCHIP_OTP_TTL_SECONDS: '4' })
  onTestFinished(async () => void (await brief.stop()))
  const phone = await newPhone({}, brief)
  const url = brief.tapUrl(chips.jacket(1))
  const page = await phone.open(url)
  const claim = action(page, 'claim')
  expect(await claim.form.count()).toBe(1)
  await expect.poll(() => claim.form.count()).toBe(0)
  expect(await page.locator('main').textContent()).toMatch(/tap .*again/i)
  // Once the browser cannot load it again either.
  await page.context().clearCookies()
  await expect
    .poll(async () => {
      const answer = await fetch(url)
      return `${answer.status} ${/<h1>(.*)<\/h1>/.exec(await answer.text())?.[1]}`
    })
    .toBe('410 The time for this tap is over')
})

test('axe finds nothing in any state, light or dark, in any language', async () => {
  const now = new Date()
  for (const language of pageLanguages)
    for (const colorScheme of ['light', 'dark'] as const) {
      const phone = await newPhone({ colorScheme })
      const page = await phone.context.newPage()
      const found: string[] = []
      for (const sample of samples(now)) {
        await page.setContent(samplePage(sample, { ...settings, now, language }).body)
        for (const finding of await audit(page)) found.push(`${sample.state}: ${finding}`)
      }
      expect(found).toEqual([])
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      await phone.close()
    }
})
