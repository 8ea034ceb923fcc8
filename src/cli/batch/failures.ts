import type { Io } from '../io/io.ts'

/** So many failures a person reads; the journal has the rest. */
const shownAtMost = 50

/** Tells people of failures as they come, but not of a million. */
export const failureTeller = (io: Io) => {
  let count = 0
  return {
    tell: (line: string): void => {
      count += 1
      if (count <= shownAtMost) io.warn(line)
    },
    /** @param id of the batch; undefined where nothing was written down */
    end: (id: string | undefined): void => {
      if (count <= shownAtMost) return
      const all =
        id === undefined ? 'All of them: --json' : `All of them: tapchip batch report ${id} --failed`
      io.warn(`… and ${(count - shownAtMost).toLocaleString('en-US')} more that failed. ${all}`)
    },
  }
}
