import { EventEmitter, once } from 'node:events'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { insertRefusedTaps } from '../../src/daemon/store/taps/taps.ts'
import { openBrowser } from '../support/browser.ts'
import { openConsole, startConsole } from '../support/console.ts'
import { type Fleet, startFleet } from '../support/fleet.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

let fleet: Fleet
let browser: Browser
beforeAll(async () => {
  fleet = await startFleet({ seed })
  browser = await openBrowser()
})
afterAll(async () => {
  await browser.close()
  await fleet.stop()
})

const daemonAt = (n: number) => {
  const daemon = fleet.daemons[n]
  if (!daemon) throw new Error(`no daemon ${n}`)
  return daemon
}

test('the console shows the taps of all daemons once, in whatever order they were stored', async () => {
  const [one, other] = [daemonAt(0), daemonAt(1)]
  const proxy = await startTcpProxy(Number(new URL(one.url).port))
  onTestFinished(() => proxy.close())
  const url = `http://127.0.0.1:${proxy.port}`
  const console = await startConsole({ TAPCHIP_URL: url, TAPCHIP_ADMIN_TOKEN: one.adminToken })
  const { page } = await openConsole(console, browser)
  const rows = page.locator('main[data-screen=now] tbody tr[data-index]')
  let counter = 0
  const tapAt = async (daemon: { url: string }) => {
    counter += 1
    const answer = await fetch(daemon.url + tapPath(tap(derived, { uid: uids.twin }, counter), '/chips/find'))
    expect(await answer.json()).toMatchObject({ isValidTap: true })
  }
  await tapAt(one)
  await tapAt(other)
  await expect.poll(() => rows.count()).toBe(2)
  // It has taken its ID, and is stored after taps with greater ones were shown.
  const gate = new EventEmitter()
  const hasId = once(gate, 'has an ID')
  const written = other.ctx.db.write(async (trx) => {
    const about = { chipUid: null, teamId: null, keySetId: 101, counter: 1 }
    const at = new Date().toISOString()
    await insertRefusedTaps(trx, [{ at, ...about, outcome: 'unknown-chip', via: 'page' }])
    gate.emit('has an ID')
    await once(gate, 'others are shown')
  })
  await Promise.race([hasId, written])
  await tapAt(one)
  await tapAt(other)
  await expect.poll(() => rows.count()).toBe(4)
  // The stream goes on before the one that is missing, so that the others come again.
  const before = proxy.accepted
  proxy.cut()
  await expect.poll(() => proxy.accepted).toBeGreaterThan(before)
  await tapAt(one)
  await expect.poll(() => rows.count()).toBe(5)
  gate.emit('others are shown')
  await written
  await expect.poll(() => rows.count()).toBe(6)
  expect(await rows.first().innerText()).toMatch(/Unknown chip/)
  await tapAt(other)
  await expect.poll(() => rows.count()).toBe(7)
})
