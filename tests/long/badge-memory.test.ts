import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { eventForm, poapEnv } from '../support/badges.ts'
import { png } from '../support/poap/image-bytes.ts'
import { PoapStandIn } from '../support/poap/stand-in.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey } from '../support/seeds.ts'

const MB = 1024 * 1024
const seed = { version: 1, teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }] }] }

/** Resident memory now, and the most that it ever was. */
function memory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kB = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  return { now: kB('VmRSS'), peak: kB('VmHWM') }
}

async function measure(env: Record<string, string>) {
  const { mkdtempSync, rmSync, writeFileSync } = await import('node:fs')
  const dataDir = mkdtempSync('/tmp/tapchip-badge-memory-')
  writeFileSync(`${dataDir}/seed.json`, JSON.stringify(seed))
  const args = ['--data-dir', dataDir, '--port', '0', '--seed', `${dataDir}/seed.json`, '--log-level', 'warn']
  const daemon = await spawnDaemon(args, { TAPCHIP_DEV_CHAIN: 'off', TAPCHIP_RATE_LIMIT: 'off', ...env })
  onTestFinished(async () => {
    await daemon.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const { url, pid } = daemon.ready
  const upload = async (image: Uint8Array) => {
    const { headers, payload } = await eventForm({}, { image })
    const answer = await fetch(`${url}/badge-events`, {
      method: 'POST',
      headers: { 'x-svc-api-key': acmeKey, ...headers },
      body: new Uint8Array(payload),
    })
    const body = JSON.parse(await answer.text())
    if (answer.status !== 200) throw new Error(`${answer.status} ${body.message}`)
    return body.id as number
  }
  // All that is loaded and compiled at a first request counts for no upload.
  for (let n = 0; n < 20; n += 1) await upload(png())
  const before = memory(pid)
  const image = png(8, 8, { bytes: 4 * MB - 1_000 })
  const id = await upload(image)
  const after = memory(pid)
  return { url, id, pid, upload, image, before, after, rise: Math.max(after.peak - before.now, 0) }
}

test('an upload of 4 MB raises the memory by little more than its size', async () => {
  const { url, id, rise, image, upload, pid, before } = await measure({})
  const served = await (await fetch(`${url}/badge-events/${id}/image`)).arrayBuffer()
  expect(served.byteLength).toBe(image.length)
  for (let n = 0; n < 20; n += 1) await upload(image)
  const later = memory(pid)
  console.log(
    `embedded: +${(rise / MB).toFixed(1)} MB at the peak; after 20 more +${((later.now - before.now) / MB).toFixed(1)} MB`,
  )
  expect(rise).toBeLessThan(16 * MB)
}, 60_000)

test('and so does one that goes on to POAP', async () => {
  const poap = await PoapStandIn.open()
  onTestFinished(() => poap.close())
  const { rise } = await measure(poapEnv(poap, { TAPCHIP_POAP_TIMEOUT_MS: '10000' }))
  console.log(`poap: +${(rise / MB).toFixed(1)} MB at the peak`)
  expect(rise).toBeLessThan(16 * MB)
}, 60_000)
