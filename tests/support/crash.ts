import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnDaemon } from './process.ts'
import { derived, seed, uids } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

const chips = Object.values(uids).filter((uid) => uid !== uids.plain && uid !== uids.listed)

/** The body of a GET, or undefined where the connection broke. */
function fetchJson(url: string, agent: Agent): Promise<{ isValidTap?: boolean } | undefined> {
  return new Promise((resolve) => {
    const call = get(url, { agent }, (answer) => {
      let text = ''
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      answer.on('end', () => {
        try {
          resolve(JSON.parse(text))
        } catch {
          resolve(undefined)
        }
      })
      answer.on('error', () => resolve(undefined))
    })
    call.on('error', () => resolve(undefined))
  })
}

export interface CrashResult {
  /** Taps that were answered valid before the kill. */
  answeredValid: number
  /** Of those, how many were valid again afterwards: must be none. */
  validAgain: number
  /** Taps on record as valid after the restart; at least as many as were answered. */
  recorded: number
}

/** A stream of taps, SIGKILL in its middle, a restart, and every tap that was answered valid once more. */
export async function crashInTheMiddleOfTaps(killAfterMs: number): Promise<CrashResult> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-crash-'))
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const env = { TAPCHIP_RATE_LIMIT: 'off', TAPCHIP_ADMIN_TOKEN: 'adm_crash-test-0123456789' }
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error']
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  try {
    const first = await spawnDaemon([...args, '--seed', seedFile], env)
    const valid: string[] = []
    let over = false
    let counter = 0
    const sender = async () => {
      while (!over) {
        counter += 1
        const uid = chips[counter % chips.length] ?? uids.jacket
        const path = tapPath(tap(derived, { uid }, counter), '/chips/find')
        const answer = await fetchJson(first.ready.url + path, agent)
        if (answer?.isValidTap) valid.push(path)
      }
    }
    const senders = Array.from({ length: 32 }, sender)
    await new Promise((resolve) => setTimeout(resolve, killAfterMs))
    await first.kill()
    over = true
    await Promise.all(senders)

    const second = await spawnDaemon(args, env)
    let validAgain = 0
    for (const path of valid)
      if ((await fetchJson(second.ready.url + path, agent))?.isValidTap) validAgain += 1
    const headers = { authorization: `Bearer ${env.TAPCHIP_ADMIN_TOKEN}` }
    const metrics = await fetch(`${second.ready.url}/admin/status`, { headers })
    const status: unknown = await metrics.json()
    await second.stop()
    return { answeredValid: valid.length, validAgain, recorded: tapsIn(status) }
  } finally {
    agent.destroy()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function tapsIn(status: unknown): number {
  const counts =
    typeof status === 'object' && status !== null && 'counts' in status ? status.counts : undefined
  return typeof counts === 'object' && counts !== null && 'taps' in counts ? Number(counts.taps) : Number.NaN
}
