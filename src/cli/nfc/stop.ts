import type { CliContext } from '../context.ts'
import { Interrupted } from '../errors.ts'

/** Time for a card whose keys are being written to finish after Ctrl-C. */
const graceMs = 1_000

/** After the first Ctrl-C, waits end at once, and a card that is being written a second later. */
export interface Stop {
  readonly now: AbortSignal
  /** Aborted after the grace period. */
  readonly late: AbortSignal
}

export const withStop = async <T>(ctx: CliContext, run: (stop: Stop) => Promise<T>): Promise<T> => {
  const [now, late] = [new AbortController(), new AbortController()]
  let clock: NodeJS.Timeout | undefined
  const unlisten = ctx.system.interrupts.listen(() => {
    ctx.io.warn('Stopping: a chip that was started is finished first. Press Ctrl-C again to stop now.')
    now.abort(new Interrupted())
    clock = setTimeout(() => late.abort(new Interrupted()), graceMs)
  })
  try {
    return await run({ now: now.signal, late: late.signal })
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
