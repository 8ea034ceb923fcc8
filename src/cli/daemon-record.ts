import { readdirSync, readFileSync } from 'node:fs'
import { isLoopback } from './client/errors.ts'
import { parseObject } from './json.ts'
import { type SystemPaths, stateDir } from './system.ts'

/** A daemon that `daemon start` started: one record a data directory, so that several live side by side. */
export interface DaemonRecord {
  readonly pid: number
  /** When the process started, as the system tells it: its pid will be another process's one day. */
  readonly processStart: string
  readonly url: string
  /** What its `/healthz` says. */
  readonly instance: string
  readonly dataDir: string
  readonly logFile: string
  readonly startedAt: string
  /** What it was told. */
  readonly flags: readonly string[]
}

export const recordsDir = (system: SystemPaths): string => `${stateDir(system)}/daemons`

/** 0 and negative numbers mean groups of processes, and 1 is the system's own. */
const isPid = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 1

/** What is no whole record is none: nothing is done to a process on its word. */
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

/** Newest first; among them those of daemons that have ended, unless they were stopped. */
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

/** When a process started, in words of the system's own; undefined where there is none, or it does not tell. */
export const processStart = (pid: number): string | undefined => {
  try {
    if (process.platform !== 'linux') return startByPs(pid)
    // proc(5): field 22, in ticks since boot. The second field is a name, which may hold anything.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // One that has ended, and whose parent has not looked yet.
    if (fields[0] === 'Z') return undefined
    return `${bootId()}/${fields[19]}`
  } catch {
    return undefined
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
  // Loaded where it is needed: this file is read by every command that needs the admin token.
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

/** Whether the process of a record is there still, and not another one under its pid. */
export const isRunning = ({ pid, processStart: start }: Pick<DaemonRecord, 'pid' | 'processStart'>) =>
  processStart(pid) === start

/** Whether two addresses lead to one port: loopback has several names. */
export const isSameAddress = (a: string, b: string): boolean => {
  const [one, other] = [new URL(a), new URL(b)]
  const isSameName =
    one.hostname === other.hostname || (isLoopback(one.hostname) && isLoopback(other.hostname))
  return one.protocol === other.protocol && one.port === other.port && isSameName
}

/** The daemon of this machine that runs at an address. */
export const recordAt = (system: SystemPaths, url: string): DaemonRecord | undefined =>
  readRecords(system).find((record) => isSameAddress(record.url, url) && isRunning(record))
