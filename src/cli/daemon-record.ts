import { readdirSync, readFileSync } from 'node:fs'
import { parseObject } from '../values/json.ts'
import { isLoopback } from './client/errors.ts'
import { type SystemPaths, stateDir } from './system.ts'

/** A daemon started by `daemon start`: one record per data directory, so that several can run side by side. */
export interface DaemonRecord {
  readonly pid: number
  /** Distinguishes the process from a later one with the same pid. */
  readonly processStart: string
  readonly url: string
  /** As reported by `/healthz`. */
  readonly instance: string
  readonly dataDir: string
  readonly logFile: string
  readonly startedAt: string
  /** The flags that it was started with. */
  readonly flags: readonly string[]
}

export const recordsDir = (system: SystemPaths): string => `${stateDir(system)}/daemons`

/** 0 and negative numbers are process groups, and 1 is init. */
const isPid = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 1

/** An incomplete record is ignored: no process is touched because of it. */
const readRecord = (path: string): DaemonRecord | undefined => {
  try {
    const { pid, flags, ...words } = parseObject(readFileSync(path, 'utf8')) ?? {}
    const { processStart, url, instance, dataDir, logFile, startedAt } = words
    const texts = [processStart, url, instance, dataDir, logFile, startedAt]
    if (!isPid(pid) || !Array.isArray(flags) || texts.some((text) => typeof text !== 'string'))
      return undefined
    return {
      pid,
      processStart: String(processStart),
      url: new URL(String(url)).origin,
      instance: String(instance),
      dataDir: String(dataDir),
      logFile: String(logFile),
      startedAt: String(startedAt),
      flags: flags.map(String),
    }
  } catch {
    return undefined
  }
}

/** Newest first, including daemons that ended without being stopped. */
export const readRecords = (system: SystemPaths): DaemonRecord[] => {
  let names: string[]
  try {
    names = readdirSync(recordsDir(system)).filter((name) => name.endsWith('.json'))
  } catch {
    return []
  }
  return names
    .flatMap((name) => readRecord(`${recordsDir(system)}/${name}`) ?? [])
    .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1))
}

/** The start time of a process in the system's own format; undefined if there is none, or it is not known. */
export const processStart = (pid: number): string | undefined => {
  try {
    if (process.platform !== 'linux') return startByPs(pid)
    const { state, start } = statOf(pid)
    // A zombie has ended; its parent has not collected it yet.
    return state === 'Z' ? undefined : `${bootId()}/${start}`
  } catch {
    return undefined
  }
}

/** proc(5): fields 3 and 22, the latter in ticks since boot. The second field is a name, which may contain anything. */
const statOf = (pid: number): { readonly state: string | undefined; readonly start: string | undefined } => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0], start: fields[19] }
}

/** True if a process was stopped by a signal or a debugger, so that it reacts to nothing. Seen on Linux only. */
export const isSuspended = (pid: number): boolean => {
  try {
    return process.platform === 'linux' && /^[Tt]$/.test(statOf(pid).state ?? '')
  } catch {
    return false
  }
}

const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}

const startByPs = (pid: number): string | undefined => {
  // Loaded on demand: every command with an admin token loads this file.
  const { execFileSync } = process.getBuiltinModule('node:child_process')
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' }
  return (
    execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env,
      stdio: 'pipe',
    }).trim() || undefined
  )
}

/** False also if another process has got the pid. */
export const isRunning = ({ pid, processStart: start }: Pick<DaemonRecord, 'pid' | 'processStart'>) =>
  processStart(pid) === start

/** Loopback has several names. */
export const isSameAddress = (a: string, b: string): boolean => {
  const [one, other] = [new URL(a), new URL(b)]
  const isSameName =
    one.hostname === other.hostname || (isLoopback(one.hostname) && isLoopback(other.hostname))
  return one.protocol === other.protocol && one.port === other.port && isSameName
}

/** The running daemon of this machine at an address. */
export const recordAt = (system: SystemPaths, url: string): DaemonRecord | undefined =>
  readRecords(system).find((record) => isSameAddress(record.url, url) && isRunning(record))
