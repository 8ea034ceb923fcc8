import type { CliContext } from '../context.ts'
import { Interrupted } from '../errors.ts'

/** After Ctrl-C, a card that is being written is finished, unless nothing answers for so long. */
const graceMs = 2_500

/** After the first Ctrl-C, waits end at once, and a card that is being written when it is done. */
export interface Stop {
  readonly now: AbortSignal
  /** Aborted when nothing has answered for the grace period. */
  readonly late: AbortSignal
  /** Call at each answer of a card or the daemon: a slow network is no silence. */
  alive(): void
}

/** SIGTERM and SIGHUP are as Ctrl-C. */
export const withStop = async <T>(ctx: CliContext, run: (stop: Stop) => Promise<T>): Promise<T> => {
  const [now, late] = [new AbortController(), new AbortController()]
  let clock: NodeJS.Timeout | undefined
  const alive = (): void => {
    clearTimeout(clock)
    if (now.signal.aborted) clock = setTimeout(() => late.abort(new Interrupted()), graceMs)
  }
  const unlisten = ctx.system.interrupts.listen(() => {
    ctx.io.warn('Stopping: a chip that was started is finished first. Press Ctrl-C again to stop now.')
    now.abort(new Interrupted())
    alive()
  })
  try {
    return await run({ now: now.signal, late: late.signal, alive })
  } finally {
    clearTimeout(clock)
    unlisten()
  }
}

export const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  signal.throwIfAborted()
  let abort: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  work.catch(() => undefined)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
