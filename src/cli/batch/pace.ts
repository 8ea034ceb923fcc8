import { setTimeout as wait } from 'node:timers/promises'

/** Small enough that neither a progress bar nor an interrupt waits for long. */
const piecesPerSecond = 4

/** Spreads rows over time, so that a batch leaves the daemon room for taps. No rate means no limit. */
export const createPace = (rate: number | undefined, signal: AbortSignal) => {
  let due = 0
  return {
    size: (most: number): number =>
      rate === undefined ? most : Math.min(most, Math.max(1, Math.floor(rate / piecesPerSecond))),
    /** Waits until this many more rows are due. An interrupt ends the wait. */
    turn: async (rows: number): Promise<void> => {
      if (rate === undefined || signal.aborted) return
      const now = performance.now()
      const ms = due - now
      due = Math.max(due, now) + (rows / rate) * 1000
      if (ms > 0) await wait(ms, undefined, { signal }).catch(() => undefined)
    },
  }
}
