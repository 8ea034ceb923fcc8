import { get, type IncomingMessage } from 'node:http'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { linesOf } from '../../src/values/line-splitter.ts'
import { bearer } from '../support/admin.ts'
import { openBrowser } from '../support/browser.ts'
import { enter, openConsole, startConsole } from '../support/console.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

let d: TestDaemon
let proxy: TcpProxy
let browser: Browser
beforeAll(async () => {
  d = await startTestDaemon({ seed })
  proxy = await startTcpProxy(Number(new URL(d.url).port))
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await proxy.close()
  await d.stop()
})

const consoleAt = (url: string) => startConsole({ TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: d.adminToken })

let counter = 0
async function tapThreeTimes(): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    counter += 1
    await fetch(d.url + tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find'))
  }
}

test('taps while the network is away come afterwards, once, and what changed is read again', async () => {
  const console = await consoleAt(`http://127.0.0.1:${proxy.port}`)
  const { page } = await openConsole(console, browser)
  const rows = page.locator('main[data-screen=now] tbody tr[data-index]')
  await tapThreeTimes()
  await expect.poll(() => rows.count()).toBe(3)
  proxy.judge = () => 'cut'
  proxy.cut()
  await page.locator('[data-away]').waitFor()
  await tapThreeTimes()
  proxy.judge = () => 'pass'
  await expect.poll(() => rows.count(), { timeout: 20_000 }).toBe(6)
  await page.locator('[data-away]').waitFor({ state: 'detached' })
  await tapThreeTimes()
  await expect.poll(() => rows.count()).toBe(9)
})

test('a screen shows at once what others change', async () => {
  const console = await consoleAt(d.url)
  const { page } = await openConsole(console, browser)
  await page.goto(`${console.origin}/chips/${uids.jacket}`)
  await page.getByRole('button', { name: 'Disable' }).waitFor()
  await fetch(`${d.url}/admin/chips/${uids.jacket}/disable`, {
    method: 'POST',
    headers: { ...bearer(d.adminToken), 'content-type': 'application/json' },
    body: '{}',
  })
  await page.getByRole('button', { name: 'Enable' }).waitFor()
})

/** Of the text in the chips' files, so that few taps are many bytes. */
const longTaps = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    ...({
      at: new Date(Date.UTC(2026, 5, 1) + from + n).toISOString(),
      outcome: 'valid',
      via: 'page',
    } as const),
    ...{ chipUid: null, teamId: null, keySetId: 101, counter: n, fileData: 'x'.repeat(4000) },
  }))

const open = (url: string, headers: Record<string, string> = {}) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const request = get(url, { headers }, resolve).on('error', reject)
    onTestFinished(() => void request.destroy())
  })

type Line = { seq?: number; taps?: { id: number }[] }

/** A page's stream, and the lines that it has read. */
async function openStream(url: string, headers: Record<string, string>) {
  const answer = await open(url, headers)
  expect(answer.statusCode).toBe(200)
  const lines: Line[] = []
  /** Until it ends, or is cut. */
  const read = async (onLine: (line: Line) => void = (line) => void lines.push(line)) => {
    try {
      for await (const line of linesOf(answer.setEncoding('utf8'))) onLine(JSON.parse(line))
    } catch {
      // Cut within a line.
    }
  }
  const last = () => lines.findLast(({ seq }) => seq !== undefined)?.seq ?? 0
  return { lines, read, last }
}

test('a page that sleeps is let go, and has the newest taps when it wakes up', async () => {
  const console = await consoleAt(d.url)
  const session = await enter(console.link)
  const stream = (after: number) => openStream(`${console.origin}/stream?after=${after}`, session)
  const asleep = await stream(0)
  // Comes back as a page does, where this machine is too slow to read along.
  const awake = { newest: undefined as unknown, seq: 0, last: () => awake.seq }
  const stayAwake = async () => {
    for (;;) {
      const own = await stream(awake.seq)
      await own.read((line) => {
        if (line.seq === undefined) return
        awake.seq = line.seq
        awake.newest = line.taps?.at(-1)
      })
    }
  }
  // Ends with its console.
  void stayAwake().catch(() => undefined)
  // Those of the tests before.
  await expect.poll(() => awake.last()).toBe(counter)
  // More than the network and the server hold for it.
  for (let told = 0; told < 6000; told += 1000) {
    const before = awake.last()
    await d.ctx.db.write((trx) => trx.insertInto('taps').values(longTaps(told, 1000)).execute())
    await expect.poll(() => awake.last()).toBe(before + 1000)
  }
  // Its stream was cut, within a line or after one.
  await asleep.read()
  expect(asleep.last()).toBeLessThan(awake.last())
  const again = await stream(asleep.last())
  void again.read()
  await expect.poll(() => again.last()).toBe(awake.last())
  const taps = again.lines.flatMap((line) => line.taps ?? [])
  expect(taps).toHaveLength(1000)
  expect(taps.at(-1)).toEqual(awake.newest)
})
