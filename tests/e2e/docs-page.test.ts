import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { EndpointSpec } from '../../src/daemon/contract/endpoint.ts'
import { endpoints } from '../../src/daemon/contract/index.ts'
import { openBrowser } from '../support/browser.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'

let daemon: TestDaemon
beforeAll(async () => {
  daemon = await startTestDaemon()
})
afterAll(() => daemon.stop())

/** The page as a browser has it once its scripts are done, and what its console said. */
async function opened(url: string) {
  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  await page.goto(url)
  await page.locator('.opblock').first().waitFor()
  return { dom: await page.content(), console: said }
}

test('/docs shows every endpoint of the interface in a browser, from files of its own alone', async () => {
  const { dom, console } = await opened(`${daemon.url}/docs`)
  const ids = Object.values<EndpointSpec>(endpoints)
    .filter(({ part }) => part !== 'admin')
    .map(({ id }) => id)
  expect(ids.filter((id) => !new RegExp(`\\b${id}\\b`).test(dom))).toEqual([])
  // Also where the policy of the page is broken.
  expect(console).toEqual([])
  // Each operation can be reached and opened from the keyboard.
  const buttons = dom.match(/<button[^>]*opblock-summary-control[^>]*>/g) ?? []
  expect(buttons).toHaveLength(ids.length)
  expect(buttons.filter((button) => !button.includes('aria-expanded'))).toEqual([])

  const { headers } = await fetch(`${daemon.url}/docs`)
  expect(headers.get('content-security-policy')).toMatch(/default-src 'none'/)
  expect(headers.get('content-security-policy')).not.toMatch(/unsafe|https?:/)
})
