import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { spawnDaemon } from '../support/process.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-closing-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const anvilPid = (): number => JSON.parse(readFileSync(join(dir, 'dev-chain', 'anvil.json'), 'utf8')).pid
/** One that has ended, and that nobody has waited for yet, does not run. */
const runs = (pid: number): boolean => {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
const ended = (pid: number) => expect.poll(() => runs(pid), { timeout: 10_000 }).toBe(false)

test('SIGHUP is an orderly stop, and takes the chain along', async () => {
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'])
  const anvil = anvilPid()
  expect(runs(anvil)).toBe(true)
  process.kill(daemon.ready.pid, 'SIGHUP')
  expect(await daemon.exited).toBe(0)
  await ended(anvil)
})

test('a stop ends, and leaves no chain, while another program holds the database locked', async () => {
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'])
  const anvil = anvilPid()
  const other = new BetterSqlite3(join(dir, 'tapchip.db'))
  try {
    other.exec('begin immediate')
    // Left to be written at the stop.
    await fetch(`${daemon.ready.url}/chips/find?d=1&e=${'A'.repeat(32)}&c=${'B'.repeat(16)}`)
    await daemon.stop()
    await ended(anvil)
  } finally {
    other.close()
  }
})
