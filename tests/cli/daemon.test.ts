import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CliHome, cliHome } from '../support/cli.ts'

let here: CliHome
beforeEach(() => {
  here = cliHome({ PATH: process.env.PATH ?? '' })
})
afterEach(async () => {
  await here.run('daemon', 'stop')
  here.remove()
})

test('start waits until it is ready, and status, logs, doctor and stop find it', async () => {
  const started = await here.run('daemon', 'start', '--port', '0', '--json')
  expect([started.code, started.stderr]).toEqual([
    0,
    expect.stringContaining('export TAPCHIP_URL=http://127.0.0.1:'),
  ])
  const { url, pid, logFile } = started.json() as { url: string; pid: number; logFile: string }
  expect(logFile).toBe(join(here.home, '.local/share/tapchip/daemon.log'))
  expect(statSync(logFile).mode & 0o777).toBe(0o600)

  // The admin token is found in the data directory of the daemon that was started here.
  expect((await here.run('daemon', 'status', '--json', '--url', url)).json()).toMatchObject({
    running: true,
    pid,
  })
  expect((await here.run('doctor', '--json', '--url', url)).json()).toContainEqual(
    expect.objectContaining({ check: 'data directory', status: 'ok' }),
  )
  expect((await here.run('daemon', 'logs')).stdout).toContain('listening')
  expect((await here.run('--version', '--url', url)).stdout).toContain('tapchip 0.0.0-test\n')

  const again = await here.run('daemon', 'start', '--json')
  expect([again.code, again.json()]).toEqual([0, expect.objectContaining({ pid, started: false })])

  expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: true, pid })
  expect((await here.run('daemon', 'stop', '--json')).json()).toEqual({ stopped: false, pid: null })
  const down = await here.run('daemon', 'status', '--json', '--url', url)
  expect([down.code, down.json()]).toEqual([5, { running: false, url }])
})

test('logs finds a request by the id in its error, at the level that logs least', async () => {
  const started = await here.run('daemon', 'start', '--port', '0', '--log-level', 'error', '--json')
  const { url } = started.json() as { url: string }
  const { requestId } = (await (await fetch(`${url}/nowhere`)).json()) as { requestId: string }
  const found = await here.run('daemon', 'logs', '--request', requestId)
  expect([found.code, found.stdout]).toEqual([
    0,
    expect.stringMatching(new RegExp(`info +request refused \\[${requestId}\\] .*"status":404`)),
  ])
  expect(found.stdout.trim().split('\n')).toHaveLength(1)
  const unknown = await here.run('daemon', 'logs', '--request', `${requestId}x`)
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('no line about the request')])
})

test('an ephemeral daemon leaves nothing behind but its log', async () => {
  const started = await here.run('daemon', 'start', '--ephemeral', '--port', '0', '--json')
  const { dataDir } = started.json() as { dataDir: string }
  expect(existsSync(dataDir)).toBe(true)
  const stopped = await here.run('daemon', 'stop')
  expect(stopped.stderr).toBe('Start it again: tapchip daemon start --port 0 --ephemeral\n')
  expect(existsSync(dataDir)).toBe(false)
  expect(existsSync(join(here.home, '.local/state/tapchip/daemon.log'))).toBe(true)
})

test('a daemon that does not start says why', async () => {
  writeFileSync(join(here.home, 'seed.json'), '{')
  const ran = await here.run('daemon', 'start', '--port', '0', '--seed', 'seed.json')
  expect([ran.code, ran.stdout]).toEqual([1, ''])
  expect(ran.stderr).toMatch(/The daemon did not start \(exit code 1\):\n.*seed\.json/)
  expect(ran.stderr).toContain('Its log: ')
})
