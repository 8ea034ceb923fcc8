import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { spawnDaemon } from '../support/process.ts'
import { startTapPages, type TapPages } from '../support/tap-page.ts'

// The screens beside taps and chips: badges and guestbooks, the chain, webhooks.

let daemon: TapPages
let browser: Browser
beforeAll(async () => {
  daemon = await startTapPages({ TAPCHIP_ADMIN_TOKEN: rootToken })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await daemon.stop()
})

const shots = process.env.TAPCHIP_SHOTS

const open = async (
  path: string,
  options: Parameters<typeof openConsole>[2] = {},
  of = environmentOf(daemon),
) => {
  const console = await startConsole(of)
  const opened = await openConsole(console, browser, options)
  await opened.page.goto(console.origin + path)
  const main = opened.page.locator(`main[data-screen=${path.slice(1)}]`)
  await main.locator('.loading').waitFor({ state: 'detached' })
  return { ...opened, main, console }
}

/** A daemon in which nothing has happened yet. */
async function emptyDaemon() {
  const empty = await spawnDaemon(['--ephemeral', '--dev', '--port', '0'], { TAPCHIP_ADMIN_TOKEN: rootToken })
  onTestFinished(() => empty.kill())
  return { TAPCHIP_URL: empty.ready.url, TAPCHIP_ADMIN_TOKEN: rootToken }
}

const looks = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark', locale: 'de-DE' }],
  ['narrow', { viewport: { width: 320, height: 720 } }],
  ['wall', { viewport: { width: 2560, height: 1440 } }],
] as const

test.each(looks)('badges and guestbooks with their codes and rates, %s', async (name, options) => {
  const { page, main, complaints } = await open('/events', options)
  await expect.poll(() => main.innerText()).toMatch(/Opening/)
  expect(await audit(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(complaints).toEqual([])
  if (shots) await page.screenshot({ path: `${shots}/events-${name}.png` })
})

test('a daemon without badges and guestbooks says how they come', async () => {
  const { page, main } = await open('/events', {}, await emptyDaemon())
  await expect.poll(() => main.innerText()).toMatch(/No badge events or guestbooks yet/)
  expect(await audit(page)).toEqual([])
  if (shots) await page.screenshot({ path: `${shots}/events-empty.png` })
})
