import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type NotifySocket, openNotifySocket } from '../support/notify-socket.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'

let dir: string
let socket: NotifySocket
let daemon: DaemonProcess | undefined
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-notify-'))
})
afterEach(async () => {
  await daemon?.kill()
  daemon = undefined
  await socket?.close()
  rmSync(dir, { recursive: true, force: true })
})

const start = (name: string, env: Record<string, string> = {}) =>
  spawnDaemon(['--port', '0', '--log-level', 'debug'], {
    STATE_DIRECTORY: join(dir, 'state'),
    TAPCHIP_ADMIN_TOKEN: 'adm_for-tests-only-0123456789',
    NOTIFY_SOCKET: name,
    ...env,
  })

test('systemd learns that the daemon starts, is ready, lives, and stops', async () => {
  const name = join(dir, 'notify')
  socket = await openNotifySocket(name)
  daemon = await start(name, { WATCHDOG_USEC: '400000' })
  expect(daemon.ready.dataDir).toBe(join(dir, 'state'))
  await socket.until(/^WATCHDOG=1$/)
  // Its processes cannot speak for it.
  for (const pid of readdirSync('/proc').filter((pid) => /^\d+$/.test(pid))) {
    const parent = fileOf(`/proc/${pid}/stat`).split(') ')[1]?.split(' ')[1]
    if (Number(parent) === daemon.ready.pid && !/systemd-notify/.test(fileOf(`/proc/${pid}/cmdline`)))
      expect(fileOf(`/proc/${pid}/environ`)).not.toContain('NOTIFY_SOCKET')
  }
  expect(await daemon.stop()).toBe(0)
  await socket.until(/^STOPPING=1$/)
  const all = socket.messages.flat()
  const [starting, extended, ready, stopping] = [
    'STATUS=Starting: ',
    'EXTEND_TIMEOUT_USEC=',
    'READY=1',
    'STOPPING=1',
  ].map((line) => all.findIndex((one) => one.startsWith(line)))
  expect([starting, extended]).toEqual([0, 1])
  expect(Number(ready)).toBeGreaterThan(Number(extended))
  expect(Number(stopping)).toBeGreaterThan(Number(ready))
  expect(all).toContain(`STATUS=Ready at ${daemon.ready.url}`)
  expect(all.filter((line) => line === 'READY=1')).toHaveLength(1)
})

test('an abstract socket does as well, and a watchdog that is meant for another process is not answered', async () => {
  const name = `@tapchip-test-${process.pid}`
  socket = await openNotifySocket(name)
  daemon = await start(name, { WATCHDOG_USEC: '1000', WATCHDOG_PID: '1', TAPCHIP_DEV_CHAIN: 'off' })
  await socket.until(/^READY=1$/)
  expect(await daemon.stop()).toBe(0)
  await socket.until(/^STOPPING=1$/)
  expect(socket.messages.flat()).not.toContain('WATCHDOG=1')
})

test('a daemon that cannot tell systemd anything serves, and says so once', async () => {
  socket = await openNotifySocket(join(dir, 'unused'))
  daemon = await start(join(dir, 'nobody-listens'), { WATCHDOG_USEC: '200000', TAPCHIP_DEV_CHAIN: 'off' })
  await expect.poll(() => daemon?.log()).toContain('systemd-notify failed')
  expect((await fetch(`${daemon.ready.url}/readyz`)).status).toBe(200)
  expect(await daemon.stop()).toBe(0)
  expect(daemon.log().match(/systemd-notify failed/g)).toHaveLength(1)
})

const fileOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
