import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { eventForm } from './badges.ts'
import { png } from './poap/image-bytes.ts'
import { spawnDaemon } from './process.ts'
import { acmeKey } from './seeds.ts'

export const MB = 1024 * 1024
const seed = { version: 1, teams: [{ name: 'Acme', apiKeys: [{ name: 'ops', key: acmeKey }] }] }

/** Resident memory now, and the most that it ever was. */
export function memory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kB = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
  return { now: kB('VmRSS'), peak: kB('VmHWM') }
}

/** What one upload of nearly 4 MB adds to the memory of a daemon of its own. */
export async function measureUpload(env: Record<string, string> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-badge-memory-'))
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
