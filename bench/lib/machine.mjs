import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** The cores that this process may use. */
function allowedCores() {
  try {
    const list = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
    return list.split(',').flatMap((part) => {
      const [from, to = from] = part.split('-').map(Number)
      return Array.from({ length: to - from + 1 }, (_, i) => from + i)
    })
  } catch {
    return []
  }
}

const hasTaskset = () => spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0

/** Which core the servers get and which the load; undefined where they cannot be kept apart, and why. */
export function chooseCores() {
  const cores = allowedCores()
  const reason = !hasTaskset()
    ? 'taskset is missing'
    : cores.length < 2
      ? 'there is no second core'
      : undefined
  if (reason !== undefined)
    return {
      server: undefined,
      load: undefined,
      note: `NOT pinned, ${reason}: server and load disturb each other`,
    }
  const [server, load] = cores
  return { server, load, note: `servers and peers on core ${server}, load on core ${load}` }
}

/** Lets this process, and what it starts, run on these cores. */
export function stayOn(cores) {
  const list = cores.filter((core) => core !== undefined)
  if (list.length > 0)
    execFileSync('taskset', ['-a', '-cp', list.join(','), String(process.pid)], { stdio: 'ignore' })
}

/** A command line that runs on that core alone. */
export const onCore = (core, command, args) =>
  core === undefined
    ? { command, args }
    : { command: 'taskset', args: ['-c', String(core), command, ...args] }

/** The kind of file system below a path. */
export function fileSystemOf(path) {
  try {
    const [, line = ''] = execFileSync('df', ['-PT', path], { encoding: 'utf8' }).trim().split('\n')
    return line.split(/\s+/)[1] ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

export const describeMachine = () =>
  `${cpus()[0]?.model ?? 'unknown CPU'}, ${cpus().length} cores, Node ${process.version}`

// What /proc counts in: USER_HZ, 100 on every Linux that Node runs on.
const ticksASecond = 100

/** CPU seconds that a process has used, all its threads together; undefined where there is no /proc. */
export function cpuSeconds(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may hold anything; after it comes field 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const counted = (Number(fields[11]) + Number(fields[12])) / ticksASecond
    // To the nanosecond, though without threads that are gone.
    return Math.max(counted, ...threadSeconds(pid))
  } catch {
    return undefined
  }
}

/** @returns nothing where the kernel does not say it */
function threadSeconds(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    return [threads.reduce((sum, thread) => sum + scheduled(`${pid}/task/${thread}`)[0], 0)]
  } catch {
    return []
  }
}

/** Seconds that a thread ran, and that it could have run and was not let. */
const scheduled = (path) =>
  readFileSync(`/proc/${path}/schedstat`, 'utf8')
    .split(' ')
    .map((nanoseconds) => Number(nanoseconds) / 1e9)

/** Measures a process's share of a core: call, work, call what it returned. */
export function watchCpu(pid) {
  const cpu = cpuSeconds(pid)
  const start = process.hrtime.bigint()
  return () => {
    const now = cpuSeconds(pid)
    const seconds = Number(process.hrtime.bigint() - start) / 1e9
    return cpu === undefined || now === undefined ? undefined : (now - cpu) / seconds
  }
}

/**
 * The most memory that a process took, beyond what it has now: call, work, call what it returned.
 * @returns megabytes; undefined where there is no /proc
 */
export function watchMemory(pid) {
  const megabytes = (field) => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8')
      return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
    } catch {
      return undefined
    }
  }
  const before = megabytes('VmRSS')
  return () => {
    const most = megabytes('VmHWM')
    return before === undefined || most === undefined ? undefined : most - before
  }
}

/** Measures the share of time that a process's first thread could run and was not let: call, work, call what it returned. 0 where there is no /proc. */
export function watchWaits(pid) {
  const waited = () => {
    try {
      return scheduled(pid)[1]
    } catch {
      return 0
    }
  }
  const [before, start] = [waited(), performance.now()]
  return () => (waited() - before) / ((performance.now() - start) / 1000)
}

/** CPU seconds of a process and its children, those that are gone included; undefined where there is no /proc. */
export function cpuSecondsWithChildren(pid) {
  try {
    const fieldsOf = (of) => {
      const stat = readFileSync(`/proc/${of}/stat`, 'utf8')
      return stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .map(Number)
    }
    const [own, ...gone] = [fieldsOf(pid).slice(11, 13), fieldsOf(pid).slice(13, 15)].map(([a, b]) => a + b)
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
    const live = children.map((child) => cpuSeconds(child) ?? 0)
    return (
      [own, ...gone].reduce((sum, ticks) => sum + ticks / ticksASecond, 0) +
      live.reduce((sum, of) => sum + of, 0)
    )
  } catch {
    return undefined
  }
}
