import { integer } from '../command/options.ts'

export const rateFlag = {
  rate: integer('--rate <n>', 'At most so many rows a second (default: as fast as it goes)', [1, 1_000_000]),
}

/** Pieces are sent so often that neither a progress bar nor an interrupt has to wait for long. */
const piecesPerSecond = 4

export interface Pace {
  /** Rows that go together, of at most `most`. */
  size(most: number): number
  /** Before so many more rows: waits until they are due. An interrupt ends the wait. */
  turn(rows: number): Promise<void>
  /** No more waiting. */
  release(): void
}

/** Spreads rows over time, so that a batch leaves the daemon room for taps. Undefined: no limit. */
export const createPace = (rate: number | undefined): Pace => {
  let due = 0
  let wake: () => void = () => undefined
  let released = false
  return {
    size: (most) =>
      rate === undefined ? most : Math.min(most, Math.max(1, Math.floor(rate / piecesPerSecond))),
    turn: async (rows) => {
      if (rate === undefined || released) return
      const now = performance.now()
      const wait = due - now
      due = Math.max(due, now) + (rows / rate) * 1000
      if (wait <= 0) return
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, wait)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    },
    release: () => {
      released = true
      wake()
    },
  }
}
