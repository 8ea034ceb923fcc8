import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey, seed } from '../support/seeds.ts'

// A million chips: what is fast with a hundred must not fall over here.

const count = 1_000_000
const uid = (i: number): string => (1_260_000_000_000_000 + i).toString()
const token = 'adm_million-test-0123456789'

let dir: string
let daemon: DaemonProcess
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-million-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const env = { TAPCHIP_ADMIN_TOKEN: token, TAPCHIP_RATE_LIMIT: 'off' }
  daemon = await spawnDaemon(
    ['--data-dir', join(dir, 'data'), '--port', '0', '--seed', seedFile, '--log-level', 'error'],
    env,
  )
})
afterAll(async () => {
  await daemon.stop()
  rmSync(dir, { recursive: true, force: true })
})

const memory = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${daemon.ready.pid}/status`, 'utf8'))?.[1]) / 1024

test('are imported from one CSV, without the daemon growing by its size', async () => {
  const before = memory()
  let row = 0
  const csv = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(Buffer.from('uid\n')),
    pull: (controller) => {
      const rows = Array.from({ length: Math.min(10_000, count - row) }, (_, i) => uid(row + i))
      row += rows.length
      if (rows.length > 0) controller.enqueue(Buffer.from(`${rows.join('\n')}\n`))
      else controller.close()
    },
  })
  const url = `${daemon.ready.url}/admin/chips/import?team=Acme&chipGroup=Million&keySet=101&report=failures`
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/csv' }
  const answer = await fetch(url, { method: 'POST', headers, body: csv, duplex: 'half' })
  expect((await answer.text()).trim()).toBe(`{"created":${count},"unchanged":0,"failed":0}`)
  expect(memory() - before).toBeLessThan(600)
})

test('are listed whole', async () => {
  const answer = await fetch(`${daemon.ready.url}/chips?name=Million`, {
    headers: { 'x-svc-api-key': acmeKey },
  })
  const chips: unknown = await answer.json()
  expect(Array.isArray(chips) && chips.length).toBe(count)
})

test('a hundred thousand of them are edited in one request, all or none', async () => {
  const patch = (tagUIDs: string[]) =>
    fetch(`${daemon.ready.url}/chips`, {
      method: 'PATCH',
      headers: { 'x-svc-api-key': acmeKey, 'content-type': 'application/json' },
      body: JSON.stringify({ tagUIDs, updates: { redirectUrl: 'https://million.example/' } }),
    })
  const uids = Array.from({ length: 100_000 }, (_, i) => uid(i * 10))
  expect((await patch([...uids.slice(1), '1299999999999999'])).status).toBe(404)
  const redirected = async () => {
    const exported = await fetch(`${daemon.ready.url}/admin/chips/export?team=Acme&chipGroup=Million`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return (await exported.text()).split('https://million.example/').length - 1
  }
  expect(await redirected()).toBe(0)
  expect((await patch(uids)).status).toBe(200)
  expect(await redirected()).toBe(100_000)
})
