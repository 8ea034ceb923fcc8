import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'

let daemon: DaemonProcess
beforeAll(async () => {
  daemon = await spawnDaemon(['--ephemeral', '--port', '0'])
})
afterAll(() => daemon?.stop())

test('the script is small, and kept by browsers under a name that changes with it', async () => {
  const built = readFileSync(resolve(import.meta.dirname, '../../dist/tap-page/page.js'))
  const hash = createHash('sha256').update(built).digest('base64url').slice(0, 16)
  const url = `${daemon.ready.url}/t/assets/page-${hash}.js`
  const head = await fetch(url, { method: 'HEAD' })
  expect(Object.fromEntries(head.headers)).toMatchObject({
    'cache-control': 'public, max-age=31536000, immutable',
    'content-type': 'text/javascript; charset=utf-8',
    'content-length': String(built.length),
    'x-content-type-options': 'nosniff',
  })
  const sent = Buffer.from(await (await fetch(url)).arrayBuffer())
  expect([head.status, sent.equals(built)]).toEqual([200, true])
  expect(gzipSync(built).length).toBeLessThan(8000)
  expect((await fetch(url.replace(hash, 'x'))).status).toBe(404)
})
