import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openPhones, type Phones } from '../support/phone.ts'
import { action, bob, carol, chips, phoneAt, startTapPages, type TapPages } from '../support/tap-page.ts'

const week = 604_800

let daemon: TapPages
let phones: Phones
beforeAll(async () => {
  const twoTap = { delaySeconds: week, windowSeconds: week }
  ;[daemon, phones] = await Promise.all([startTapPages({}, { twoTap }), openPhones()])
})
afterAll(() => Promise.all([phones?.close(), daemon?.stop()]))

const newPhone = (options?: Parameters<Phones['phone']>[0], at = daemon) => phoneAt(at, phones, options)

/** Every text that an element shows from now on. */
async function textsOf(page: Page, selector: string) {
  await page.evaluate(`
    window.texts = []
    new MutationObserver(() => {
      const text = document.querySelector('${selector}')?.textContent
      if (text) texts.push(text)
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
  return () => page.evaluate<string[]>('texts')
}

test('a wait of days is said in days, with the date in the phone’s zone, and as a file for its calendar', async () => {
  for (const [locale, timezoneId, days] of [
    ['en', 'Pacific/Auckland', /in 7 days, on (.*)\.$/],
    ['de', 'America/Anchorage', /in 7 Tagen, am (.*)\.$/],
    ['fr', 'Asia/Kathmandu', /dans 7 jours, le (.*)\.$/],
    ['es', 'America/St_Johns', /en 7 días, el (.*)\.$/],
  ] as const) {
    const phone = await newPhone({ locale, timezoneId })
    const page = await phone.tap(chips.art(1))
    await action(page, 'register').send('bob.eth')
    await action(page, 'register').is('confirmed')
    const { card } = action(page, 'claim')
    const wait = card.locator('.wait')
    const opensAt = (await wait.locator('time').getAttribute('datetime')) ?? ''
    const format = new Intl.DateTimeFormat(locale, {
      dateStyle: 'long',
      timeStyle: 'short',
      timeZone: timezoneId,
    })
    await expect
      .poll(async () => days.exec(await wait.innerText())?.[1])
      .toBe(format.format(new Date(opensAt)))
    expect(await page.locator('main').innerText()).not.toMatch(/UTC|\d{3}:\d\d|\d{4,} min/)

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      card.locator('a[type="text/calendar"]').tap(),
    ])
    expect(download.suggestedFilename()).toBe('claim.ics')
    const file = readFileSync(await download.path(), 'utf8')
    expect(Date.parse(opensAt) / 1000).toBeGreaterThan(startOf(file) - 1)
    expect(startOf(file)).toBeGreaterThanOrEqual(Date.parse(opensAt) / 1000)
    expect(file).toMatch(/\r\nSUMMARY:.*Art|\r\nSUMMARY:.*Jacket/)
    // The page is still there.
    expect(await page.locator('h1').count()).toBe(1)
  }
})

/** DTSTART of a calendar file; in seconds since 1970. */
function startOf(file: string): number {
  const [, date = '', time = ''] = /\r\nDTSTART:(\d{8})T(\d{6})Z\r\n/.exec(file) ?? []
  const [year, month, day] = [date.slice(0, 4), date.slice(4, 6), date.slice(6)]
  return Date.parse(`${year}-${month}-${day}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}Z`) / 1000
}

test('after a refused press no more time is left than the daemon gave', async () => {
  const phone = await newPhone()
  const page = await phone.tap(chips.jacket(1))
  const shown = await textsOf(page, '[data-card=time] [data-until]')
  // The phone learns the daemon's time from answers: here a quarter of a minute too early.
  await page.route(/\/t\/act$/, async (route) => {
    const response = await route.fetch()
    const date = new Date(Date.now() - 15_000).toUTCString()
    await route.fulfill({ response, headers: { ...response.headers(), date } })
  })
  await action(page, 'claim').send('nobody.eth')
  await action(page, 'claim').is('failed')
  await expect.poll(async () => (await shown()).length).toBeGreaterThan(1)
  const seconds = (text: string) => text.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  expect(Math.max(...(await shown()).map(seconds))).toBeLessThanOrEqual(1800)
})

test('of two tabs, the later one is told that the other’s entry counts, and stays told', async () => {
  const phone = await newPhone()
  const url = daemon.tapUrl(chips.jacket(2))
  const [one, two] = [await phone.open(url), await phone.open(url)]
  await action(one, 'claim').send('bob.eth')
  await action(one, 'claim').is('confirmed')
  await action(two, 'claim').send(carol)
  const { card, status, is } = action(two, 'claim')
  await is('confirmed')
  expect(await status.textContent()).toMatch(/belongs to bob\.eth .*another page of this tap/)
  await two.evaluate(`new Promise((shown) => {
    document.addEventListener('tapchip:shown', shown, { once: true })
    document.dispatchEvent(new Event('visibilitychange'))
  })`)
  expect(await card.locator('[data-too-late]').count()).toBe(1)
  expect(await action(one, 'claim').card.locator('[data-too-late]').count()).toBe(0)
})

test('a page that waits its turn shows no phone at a chip, and asks again by itself', async () => {
  const busy = await startTapPages({ TAPCHIP_RATE_LIMIT: '1' })
  onTestFinished(async () => void (await busy.stop()))
  const phone = await newPhone({}, busy)
  let asked = 0
  await phone.context.route(/\/t\?/, async (route) => {
    const response = await route.fetch()
    asked += 1
    const { refresh, 'retry-after': wait } = response.headers()
    if (response.status() === 429) expect(refresh).toBe(wait)
    await route.fulfill({ response, headers: { ...response.headers(), ...(refresh && { refresh: '1' }) } })
  })
  const page = await phone.context.newPage()
  const unknown = `${busy.ready.url}/t?e=${'A'.repeat(32)}&c=${'A'.repeat(16)}`
  await expect.poll(async () => (await page.goto(unknown))?.status()).toBe(429)
  expect(await page.locator('h1').textContent()).toBe('Too many at once')
  expect(await page.locator('.pictogram').count()).toBe(0)
  const before = asked
  await expect.poll(() => asked).toBeGreaterThan(before)
})

test('a wallet that never answers is said to have been asked, and what is a wallet is explained', async () => {
  const phone = await newPhone()
  await phone.context.addInitScript('window.ethereum = { request: () => new Promise(() => {}) }')
  const page = await phone.tap(chips.jacket(3))
  const { form, check, send, is } = action(page, 'claim')
  await form.locator('[data-wallet]').tap()
  await expect.poll(() => check.textContent()).toMatch(/was asked for an address\. Look for its window/)
  const explained = page.locator('details', { hasText: 'What is a wallet?' })
  expect(await explained.locator('p').isVisible()).toBe(false)
  await explained.locator('summary').tap()
  await expect.poll(() => explained.locator('p').isVisible()).toBe(true)
  // It is in nobody's way.
  await send(bob)
  await is('confirmed')
})
