import { readFileSync } from 'node:fs'

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
  // Loaded on demand: only systems without /proc need it.
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
