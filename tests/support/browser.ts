import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Browser, chromium } from 'playwright-core'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** @throws Error that says what to install */
export function browserBinary(): string {
  const found = process.env.TAPCHIP_TEST_BROWSER ?? places.find((path) => existsSync(path))
  if (found) return found
  throw new Error(
    'These tests open pages in a real browser, and there is none: apt-get install chromium, or set TAPCHIP_TEST_BROWSER to one like it.',
  )
}

/** The browser of this machine, without a window. It ends with this process at the latest. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserBinary(),
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
  })

/**
 * Runs a script in a page that has an origin of its own. @param script an async function body; what it returns must
 * fit into JSON
 */
export async function inBrowser(script: string): Promise<unknown> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<!doctype html>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const browser = await openBrowser()
  try {
    const page = await browser.newPage()
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    return await page.evaluate(`(async () => {${script}})()`)
  } finally {
    await browser.close()
    server.closeAllConnections()
    server.close()
  }
}
