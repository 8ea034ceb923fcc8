import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { audit } from '../support/axe.ts'
import { openBrowser } from '../support/browser.ts'
import { environmentOf, openConsole, rootToken, startConsole } from '../support/console.ts'
import { startTapPages, type TapPages } from '../support/tap-page.ts'

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

test("shows doctor's findings, the last backup, and the audit log, searched", async () => {
  const console = await startConsole(environmentOf(daemon))
  const { page, complaints } = await openConsole(console, browser)
  await page.goto(`${console.origin}/daemon`)
  const main = page.locator('main[data-screen=daemon]')
  await main.locator('.findings li').first().waitFor()
  // Worst first, each with its fix.
  expect(await main.locator('.findings').first().innerText()).toMatch(
    /▲\s+Warning\s+API key\s+none\s+Fix: tapchip api-keys create/,
  )
  await main.getByText(/in order/).click()
  expect(await main.locator('.findings-fine').innerText()).toMatch(/database\s+it answers, [\d,]+ bytes/)
  expect(await main.locator('.daemon-figures').innerText()).toMatch(/Last backup\s+never/)
  expect(await audit(page)).toEqual([])

  const headers = { authorization: `Bearer ${rootToken}`, 'content-type': 'application/json' }
  await fetch(`${daemon.ready.admin}/admin/backup`, { method: 'POST', headers, body: '{}' })
  for (let n = 0; n < 120; n += 1)
    await fetch(`${daemon.ready.admin}/admin/teams`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: `Team ${n}` }),
    })
  await page.reload()
  await expect
    .poll(() => main.locator('.daemon-figures').innerText())
    .toMatch(/Last backup\s+(just now|\d+ s ago)/)
  const table = page.getByRole('table', { name: 'Audit log' })
  const rows = table.locator('tbody tr[data-index]')
  await expect.poll(() => rows.first().innerText()).toMatch(/teams.create\s+Team 119/)
  // More come as they are scrolled to.
  await expect
    .poll(async () => {
      await page.evaluate("document.querySelector('.audit .table').scrollTop = 1e6")
      return Number(await table.getAttribute('aria-rowcount'))
    })
    .toBeGreaterThan(121)
  await page.getByLabel('Action').fill('daemon')
  await expect.poll(() => rows.allInnerTexts()).toEqual([expect.stringMatching(/daemon.backup/)])
  expect(new URL(page.url()).searchParams.get('action')).toBe('daemon')
  await rows.first().getByRole('button').press('Enter')
  expect(await page.getByRole('dialog').innerText()).toMatch(/daemon.backup/)
  expect(await audit(page)).toEqual([])
  await page.keyboard.press('Escape')
  await page.getByLabel('By').fill('nobody')
  await page.getByText('No entry matches').waitFor()
  await page.getByLabel('By').fill('')
  await page.getByLabel('UID').fill('nonsense')
  await page.getByText(/must be a UID/).waitFor()
  expect(complaints).toEqual([])
})
