import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type Surroundings, stateDir } from './surroundings.ts'

/** The daemon that `daemon start` started last. */
export interface DaemonRecord {
  readonly pid: number
  readonly url: string
  readonly dataDir: string
  readonly logFile: string
  readonly startedAt: string
  /** What it was told, as it was typed. Records of older versions have none. */
  readonly flags?: readonly string[]
}

type Place = Pick<Surroundings, 'env' | 'home'>

const recordPath = (at: Place): string => `${stateDir(at)}/daemon.json`

export const readRecord = (at: Place): DaemonRecord | undefined => {
  try {
    const value: unknown = JSON.parse(readFileSync(recordPath(at), 'utf8'))
    if (typeof value !== 'object' || value === null) return undefined
    const { pid, url, dataDir, logFile, startedAt, flags } = Object.fromEntries(Object.entries(value))
    const texts = [url, dataDir, logFile, startedAt]
    if (!Number.isSafeInteger(pid) || texts.some((text) => typeof text !== 'string')) return undefined
    return {
      pid: Number(pid),
      url: String(url),
      dataDir: String(dataDir),
      logFile: String(logFile),
      startedAt: String(startedAt),
      ...(Array.isArray(flags) ? { flags: flags.map(String) } : {}),
    }
  } catch {
    return undefined
  }
}

export const writeRecord = (at: Place, record: DaemonRecord): void => {
  mkdirSync(stateDir(at), { recursive: true, mode: 0o700 })
  writeFileSync(recordPath(at), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

export const removeRecord = (at: Place): void => rmSync(recordPath(at), { force: true })

/** Whether the process is there, and is a daemon of ours as far as the system tells: pids are used again. */
export const isDaemonProcess = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('tapchipd')
  } catch {
    return true
  }
}
