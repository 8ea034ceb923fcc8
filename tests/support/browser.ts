import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** @throws Error that says what to install */
export function browserBinary(): string {
  const found = process.env.TAPCHIP_TEST_BROWSER ?? places.find((path) => existsSync(path))
  if (found) return found
  throw new Error(
    'These tests open pages in a real browser, and there is none: apt-get install chromium, or set TAPCHIP_TEST_BROWSER to one like it.',
  )
}

export const browserArguments = (profile: string): string[] => [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  `--user-data-dir=${profile}`,
]

/** Serves one page, whose script says what came of it with a POST to /done. */
async function servePage(html: string) {
  let report: (text: string) => void = () => undefined
  const reported = new Promise<string>((resolve) => {
    report = resolve
  })
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/done') report(Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      response.end(request.url === '/' ? html : '')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, reported, close }
}

/**
 * Opens a page in a headless browser, on an origin of its own. @param script an async function body; what it returns
 * is reported as JSON
 */
export async function inBrowser(script: string, timeoutMs = 20_000): Promise<unknown> {
  const page = await servePage(
    `<!doctype html><meta charset="utf-8"><script type="module">
    const outcome = await (async () => {${script}})().catch((error) => ({ failed: String(error) }))
    await fetch('/done', { method: 'POST', body: JSON.stringify(outcome) })
    </script>`,
  )
  const profile = mkdtempSync(join(tmpdir(), 'tapchip-browser-'))
  const child = spawn(
    browserBinary(),
    [...browserArguments(profile), '--remote-debugging-port=0', page.url],
    // A group of its own: a browser is many processes, and those that outlive the first go on writing.
    { stdio: 'ignore', detached: true },
  )
  const endAll = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // They have ended.
    }
  }
  process.once('exit', endAll)
  const exited = once(child, 'exit')
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the page did not report in time')), timeoutMs)
  })
  try {
    return JSON.parse(await Promise.race([page.reported, late]))
  } finally {
    clearTimeout(timer)
    endAll()
    await exited
    process.removeListener('exit', endAll)
    await page.close()
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}
