import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { spawnCli } from './cli-process.ts'

/** The root token of the daemons that consoles are tested with. */
export const rootToken = 'root-token-of-the-tests-of-the-console'

interface ServedDaemon {
  readonly ready: { readonly url: string; readonly admin: string }
}

/** Where its own home is, and what of the CLI's environment leads to a daemon. */
export const environmentOf = ({ ready }: ServedDaemon, token = rootToken): Record<string, string> => ({
  TAPCHIP_URL: ready.url,
  TAPCHIP_ADMIN_URL: ready.admin,
  TAPCHIP_ADMIN_TOKEN: token,
})

/** The built `tapchip console`, until the test ends. @param env as `environmentOf` gives it */
export async function startConsole(env: Record<string, string>, args: readonly string[] = []) {
  const home = mkdtempSync(join(tmpdir(), 'tapchip-console-'))
  const running = spawnCli(
    ['console', '--port', '0', '--no-open', '--json', ...args],
    { HOME: home, ...env },
    home,
  )
  onTestFinished(async () => {
    running.child.kill('SIGKILL')
    await running.ended
    rmSync(home, { recursive: true, force: true })
  })
  await running.until((stdout) => stdout.includes('\n'))
  const { url: link } = JSON.parse(running.stdout())
  return { ...running, link: String(link), origin: new URL(link).origin }
}

export type Console = Awaited<ReturnType<typeof startConsole>>

/** A page of a new browser context that has opened the console; what went wrong in it is in `complaints`. */
export async function openConsole(
  { link }: Pick<Console, 'link'>,
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    ...options,
  })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(20_000)
  const complaints: string[] = []
  context.on('weberror', (error) => complaints.push(`error: ${error.error().message}`))
  context.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text())
  })
  const page = await context.newPage()
  await page.goto(link)
  await page.locator('main[data-screen]').waitFor()
  return { page, complaints }
}

interface Answered {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly text: string
}

/** A request with any headers, as a browser or a program could send it. */
export const ask = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<Answered>((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject).end()
  })

/** Both secrets of a session, as the browser of the link gets them. */
export async function enter(link: string): Promise<Record<string, string>> {
  const { headers } = await ask(link)
  const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
  return { cookie, 'x-console-session': /#session=(.+)$/.exec(String(headers.location))?.[1] ?? '' }
}
