import type { CliContext } from '../context.ts'
import { Interrupted } from '../errors.ts'

/** A card whose keys are being written gets so long to come to its end after Ctrl-C. */
const graceMs = 1_000

/** The first Ctrl-C, for those who work on a card: what waits ends at once, a card that is begun on a second later. */
export interface Stop {
  /** Aborted at once, with Interrupted. */
  readonly now: AbortSignal
  /** Aborted when the card has had its time. */
  readonly late: AbortSignal
}

export const withStop = async <T>(ctx: CliContext, run: (stop: Stop) => Promise<T>): Promise<T> => {
  const [now, late] = [new AbortController(), new AbortController()]
  let clock: NodeJS.Timeout | undefined
  const unlisten = ctx.system.interrupts.listen(() => {
    ctx.io.warn('Stopping: a chip that is begun on is finished first. Once more ends at once.')
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

/** What is awaited, or the reason of the signal where that comes first. */
export const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal): Promise<T> => {
  signal.throwIfAborted()
  let abort: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
  })
  // Whichever loses is waited for by nobody.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
