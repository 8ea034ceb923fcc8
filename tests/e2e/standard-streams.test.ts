import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { limitFiles } from '../support/full-disk.ts'
import { bin } from '../support/process.ts'

let dir: string
let child: ChildProcess | undefined
const files: number[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-streams-'))
})
afterEach(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  child = undefined
  for (const file of files.splice(0)) closeSync(file)
  rmSync(dir, { recursive: true, force: true })
})

const opened = (path: string, flags: string): number => {
  const file = openSync(path, flags)
  files.push(file)
  return file
}

/** Each request is several lines of the log. */
function start(stdout: number | 'pipe', stderr: number | 'pipe') {
  const args = ['--data-dir', join(dir, 'data'), '--port', '0', '--log-level', 'debug']
  child = spawn(process.execPath, [bin('tapchipd'), ...args], {
    stdio: ['ignore', stdout, stderr],
    env: { PATH: process.env.PATH ?? '', TAPCHIP_DEV_CHAIN: 'off', TAPCHIP_RATE_LIMIT: 'off' },
  })
  return child
}

const note = (): string => JSON.parse(readFileSync(join(dir, 'data', 'daemon.json'), 'utf8')).url
/** Its address, which stands in its data directory, for whom no ready line comes. */
const listening = async (): Promise<string> => {
  await expect.poll(() => fetch(`${note()}/readyz`).then(({ status }) => status)).toBe(200)
  return note()
}
const answers = async (url: string, requests: number) => {
  for (let left = requests; left > 0; left -= 50)
    await Promise.all(
      Array.from({ length: Math.min(50, left) }, async () =>
        (await fetch(`${url}/nothing-here?${'x'.repeat(500)}`)).text(),
      ),
    )
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
}
const stopped = async (daemon: ChildProcess) => {
  const gone = once(daemon, 'exit')
  daemon.kill('SIGTERM')
  return (await gone)[0]
}

test('a log and a standard output on a full disk end nothing', async () => {
  const full = opened('/dev/full', 'w')
  const daemon = start(full, full)
  const url = await listening()
  await answers(url, 200)
  expect(await stopped(daemon)).toBe(0)
})

test('readers that have gone end nothing', async () => {
  const daemon = start('pipe', 'pipe')
  daemon.stderr?.destroy()
  daemon.stdout?.destroy()
  const url = await listening()
  await answers(url, 200)
  expect(await stopped(daemon)).toBe(0)
})

test('a reader that stops reading stops nothing, and gets the lines again when it reads, with how many it missed', async () => {
  const daemon = start('pipe', 'pipe')
  const [ready] = await once(daemon.stdout as NodeJS.ReadableStream, 'data')
  const { url } = JSON.parse(String(ready))
  // More than a pipe and the daemon hold together.
  await answers(url, 2500)
  let log = ''
  daemon.stderr?.on('data', (chunk) => {
    log += chunk
  })
  await expect.poll(() => log).toContain('were lost')
  await answers(url, 1)
  expect(await stopped(daemon)).toBe(0)
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const missing = lines.findIndex(({ lost }) => lost !== undefined)
  expect(lines[missing].lost).toBeGreaterThan(100)
  expect(lines.slice(missing + 1).length).toBeGreaterThan(0)
})

test('lines that a full disk took half of are whole once there is space', async () => {
  const path = join(dir, 'log')
  const daemon = start('pipe', opened(path, 'a'))
  const [ready] = await once(daemon.stdout as NodeJS.ReadableStream, 'data')
  const { url } = JSON.parse(String(ready))
  const end = statSync(path).size + 100
  const lift = limitFiles(end, daemon.pid)
  await answers(url, 20)
  expect(statSync(path).size).toBe(end)
  lift()
  const lines = () => readFileSync(path, 'utf8').trim().split('\n')
  await expect.poll(() => lines().length).toBeGreaterThan(20)
  expect(await stopped(daemon)).toBe(0)
  for (const line of lines()) expect(() => JSON.parse(line)).not.toThrow()
})
