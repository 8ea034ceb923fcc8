import { execFile } from 'node:child_process'
import type { Logger } from 'pino'

/** Tells systemd about the daemon's state, by the protocol of sd_notify(3). Does nothing without systemd. */
export interface ServiceManager {
  /**
   * Reports that the daemon is starting and working on `what`. While it responds, systemd keeps waiting.
   * @param blockedMs how long it may be unresponsive; systemd waits that long
   * @returns once systemd knows
   */
  starting(what: string, blockedMs?: number): Promise<void>
  ready(status: string): void
  stopping(): void
}

type Environment = Record<string, string | undefined>

const extendMs = 60_000
const extendEveryMs = 20_000
/** A start that takes longer has failed, even if the process still responds. */
const maxStartMs = 30 * 60_000

/** @param env systemd's variables are removed from it, so that child processes cannot speak for the daemon */
export function serviceManager(env: Environment, log: Pick<Logger, 'warn'>): ServiceManager {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC, WATCHDOG_PID, PATH } = env
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name]
  if (!socket) return { starting: async () => undefined, ready: () => undefined, stopping: () => undefined }

  const send = sender({ NOTIFY_SOCKET: socket, PATH }, log)
  const extended = (ms: number) => `EXTEND_TIMEOUT_USEC=${ms * 1000}`
  const until = performance.now() + maxStartMs
  const extending = setInterval(() => {
    if (performance.now() < until) void send([extended(extendMs)])
  }, extendEveryMs).unref()
  let watching: NodeJS.Timeout | undefined
  // systemd expects a sign of life within that time; the variable names the process, in case the daemon inherited it.
  const isWatched = WATCHDOG_USEC && (!WATCHDOG_PID || WATCHDOG_PID === String(process.pid))
  const watchdogMs = isWatched ? Number(WATCHDOG_USEC) / 1000 : Number.NaN
  return {
    starting: (what, blockedMs = extendMs) => send([`STATUS=Starting: ${what}`, extended(blockedMs)]),
    ready: (status) => {
      clearInterval(extending)
      void send(['READY=1', `STATUS=${status}`])
      // The timer fires only while the event loop runs.
      if (watchdogMs > 0) watching = setInterval(() => void send(['WATCHDOG=1']), watchdogMs / 4).unref()
    },
    stopping: () => {
      clearInterval(extending)
      clearInterval(watching)
      void send(['STOPPING=1', 'STATUS=Answering the last requests'])
    },
  }
}

/**
 * Node has no datagram sockets in the file system, so systemd's own program sends the messages. It waits until systemd
 * has read them, so that systemd still finds the process they came from; the unit needs NotifyAccess=all.
 */
function sender(env: Environment, log: Pick<Logger, 'warn'>): (lines: readonly string[]) => Promise<void> {
  let last = Promise.resolve()
  let hasFailed = false
  const once = (lines: readonly string[]) =>
    new Promise<void>((resolve) => {
      execFile('systemd-notify', lines, { env, timeout: 10_000 }, (error, _stdout, stderr) => {
        if (error && !hasFailed) {
          hasFailed = true
          const why = stderr.trim() || error.message
          log.warn({ why }, 'systemd does not learn whether the daemon is ready: systemd-notify failed')
        }
        resolve()
      })
    })
  return (lines) => {
    last = last.then(() => once(lines))
    return last
  }
}
