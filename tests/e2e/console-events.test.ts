import { createServer } from 'node:http'
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
  daemon = await startTapPages({ TAPCHIP_ADMIN_TOKEN: rootToken, TAPCHIP_WEBHOOKS_PRIVATE: 'on' })
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

test.each(looks)('the chain with its transactions, money and gas, %s', async (name, options) => {
  const { page, main, complaints } = await open('/chain', options)
  await main.locator('tbody tr[data-index]').first().waitFor()
  expect(await main.innerText()).toMatch(/31337/)
  expect(await audit(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(complaints).toEqual([])
  if (shots) await page.screenshot({ path: `${shots}/chain-${name}.png` })
})

test('a daemon without transactions and webhooks says so', async () => {
  const { page, main, console } = await open('/chain', {}, await emptyDaemon())
  await expect.poll(() => main.innerText()).toMatch(/No transactions yet/)
  expect(await audit(page)).toEqual([])
  await page.goto(`${console.origin}/webhooks`)
  await page.getByText('No webhooks yet').waitFor()
  expect(await audit(page)).toEqual([])
})

test('webhooks with their health; a delivery is redelivered after a question', async () => {
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(500).end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void receiver.close())
  const address = receiver.address()
  const port = typeof address === 'object' ? address?.port : 0
  const ask = async (path: string, body: object = {}) =>
    JSON.parse(
      await (
        await fetch(`${daemon.ready.admin}/admin/${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        })
      ).text(),
    )
  const { id } = await ask('webhooks', { team: 'Acme', url: `http://127.0.0.1:${port}/hook` })
  await ask(`webhooks/${id}/test`)
  const { page, main, complaints } = await open('/webhooks')
  await expect.poll(() => main.innerText()).toMatch(/Failing[\s\S]*webhook\.test/)
  expect(await audit(page)).toEqual([])
  if (shots) await page.screenshot({ path: `${shots}/webhooks-light.png` })
  await main.getByRole('button', { name: 'Redeliver' }).first().click()
  const question = page.getByRole('dialog')
  expect(await question.innerText()).toContain(daemon.ready.url)
  expect(await question.innerText()).toContain('Acme')
  await question.getByRole('button', { name: 'Redeliver' }).click()
  await question.waitFor({ state: 'detached' })
  await expect.poll(() => main.innerText()).toMatch(/Waiting/)
  const audited = await fetch(`${daemon.ready.admin}/admin/audit?action=webhooks.redeliver`, {
    headers: { authorization: `Bearer ${rootToken}` },
  })
  expect(await audited.text()).toMatch(/webhooks\.redeliver/)
  await page.setViewportSize({ width: 320, height: 720 })
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  expect(await audit(page)).toEqual([])
  if (shots) await page.screenshot({ path: `${shots}/webhooks-narrow.png` })
  expect(complaints).toEqual([])
})
