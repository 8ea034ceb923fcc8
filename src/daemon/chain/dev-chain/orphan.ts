import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import * as z from 'zod'
import { replaceFile } from '../../../values/files.ts'
import type { RpcConnection } from '../rpc-connection.ts'
import { connectTo, markerOf } from './connect.ts'

const pidRecord = z.object({
  pid: z.number().int().positive(),
  url: z.string().optional(),
  marker: z.string(),
})

/** Written for the next daemon, in case this one is killed. */
type PidRecord = z.infer<typeof pidRecord>

/** Replaced atomically: half a file would leave an anvil that no one finds. */
export const writePidFile = (file: string, record: PidRecord): void =>
  replaceFile(file, JSON.stringify(record))

export const removePidFile = (file: string): void => rmSync(file, { force: true })

interface OrphanSettings {
  pidFile: string
  cacheDir: string
  log: Logger
  /** Saves what only this chain has before it is ended. */
  rescue(connection: RpcConnection): Promise<void>
  platform?: NodeJS.Platform
}

/** Ends an anvil that a killed daemon left behind, but no other process that has reused its pid. */
export async function endOrphan(orphan: OrphanSettings): Promise<void> {
  const record = readPidFile(orphan.pidFile)
  if (record && isAlive(record.pid)) {
    const connection = record.url === undefined ? undefined : connectTo(record.url)
    try {
      const isMarked = connection !== undefined && (await markerOf(connection)) === record.marker
      const onLinux = (orphan.platform ?? process.platform) === 'linux'
      const isOurs = () =>
        onLinux ? isOurAnvil(record.pid, orphan.cacheDir) : isMarked && isAlive(record.pid)
      if (isOurs()) {
        orphan.log.warn({ pid: record.pid }, 'ending the dev chain of a killed daemon')
        if (isMarked && connection)
          await orphan
            .rescue(connection)
            .catch((err: unknown) => orphan.log.warn({ err }, 'its state could not be saved'))
        await endProcess(record.pid, isOurs)
      }
    } finally {
      connection?.close()
    }
  }
  removePidFile(orphan.pidFile)
}

function readPidFile(file: string): PidRecord | undefined {
  try {
    return pidRecord.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** True if a process is an anvil for this data directory. A zombie is not. */
function isOurAnvil(pid: number, cacheDir: string): boolean {
  try {
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return /anvil[^/]*$/.test(args[0] ?? '') && args[args.indexOf('--cache-path') + 1] === cacheDir
  } catch {
    return false
  }
}

async function endProcess(pid: number, isStillIt: () => boolean): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!isStillIt()) return
    try {
      process.kill(pid, signal)
    } catch {
      return
    }
    for (let waited = 0; waited < 1500 && isStillIt(); waited += 10) await wait(10)
  }
  if (isStillIt())
    throw new Error(`The dev chain that a killed daemon left behind (pid ${pid}) does not end.`)
}
