import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
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

test('SIGTERM to the whole process group leaves the chain to the requests that are still being answered', async () => {
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'], {}, { ownGroup: true })
  const { pid, url, chains } = daemon.ready
  const held = connect(Number(new URL(url).port), '127.0.0.1')
  // Half a request: it holds up the daemon until the rest is here.
  held.write(
    'GET /openapi.json HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{',
  )
  await once(held, 'connect')
  await fetch(`${url}/openapi.json`)
  process.kill(-pid, 'SIGTERM')
  const isListening = () =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => false,
    )
  while (await isListening());
  const answer = await fetch(String(chains[31337]), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
  })
  expect(await answer.json()).toMatchObject({ result: '0x7a69' })
  held.end('}')
  expect(await daemon.exited).toBe(0)
  expect(daemon.log()).not.toContain('dev chain died')
})
