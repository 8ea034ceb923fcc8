import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { anvilOf, hasEnded, runs } from '../support/anvil-of.ts'
import { spawnDaemon } from '../support/process.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-closing-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('SIGHUP is an orderly stop, and takes the chain along', async () => {
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'])
  const anvil = anvilOf(dir)
  expect(runs(anvil)).toBe(true)
  process.kill(daemon.ready.pid, 'SIGHUP')
  expect(await daemon.exited).toBe(0)
  await hasEnded(anvil)
})

test('a stop ends, and leaves no chain, while another program holds the database locked', async () => {
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'])
  const anvil = anvilOf(dir)
  const other = new BetterSqlite3(join(dir, 'tapchip.db'))
  try {
    other.exec('begin immediate')
    // Left to be written at the stop.
    await fetch(`${daemon.ready.url}/chips/find?d=1&e=${'A'.repeat(32)}&c=${'B'.repeat(16)}`)
    await daemon.stop()
    await hasEnded(anvil)
  } finally {
    other.close()
  }
})
