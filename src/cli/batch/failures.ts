import type { Io } from '../io/io.ts'
import { clean } from '../io/text.ts'
import { alike, ranges } from './input/problems.ts'

/** So many failures a person reads; the journal has the rest. */
const shownAtMost = 50

interface Failure {
  readonly row: number
  readonly why: string
}

interface Held {
  readonly failures: Failure[]
  /** Those but the first, which was told as it came. */
  readonly lines: string[]
}

/** The same for what differs by the token and the recipient alone. */
const kindOf = (why: string): string => why.replace(/\b(0x[0-9a-fA-F]{40}|\d+)\b/g, '…')

/**
 * Tells people of failures as they come, but not of a million. Of those that have one reason the first is told as it
 * comes; the others follow at the end, in one line where they are many.
 */
export const failureTeller = (io: Io) => {
  const held = new Map<string, Held>()
  let told = 0
  let left = 0
  const say = (line: string, rows = 1): void => {
    if (told < shownAtMost) io.warn(line)
    else left += rows
    told += 1
  }
  const sayHeld = ({ failures, lines }: Held, kind: string): void => {
    if (failures.length < alike) {
      for (const line of lines) say(line)
      return
    }
    const [first] = failures
    const isSame = failures.every(({ why }) => why === first?.why)
    const rows = ranges(failures.map(({ row }) => row))
    say(clean(`rows ${rows}: ${isSame ? first?.why : kind}`), failures.length)
  }
  return {
    /** @param failure its row and its reason, where rows may fail for one */
    tell: (line: string, failure?: Failure): void => {
      if (failure === undefined) {
        say(line)
        return
      }
      const kind = kindOf(failure.why)
      const before = held.get(kind)
      if (before === undefined) {
        held.set(kind, { failures: [failure], lines: [] })
        say(line)
        return
      }
      before.failures.push(failure)
      // Beyond that one line names them all.
      if (before.failures.length < alike) before.lines.push(line)
    },
    /** @param id of the batch; undefined where nothing was written down */
    end: (id: string | undefined): void => {
      for (const [kind, one] of held) sayHeld(one, kind)
      if (left === 0) return
      const all =
        id === undefined ? 'All of them: --json' : `All of them: tapchip batch report ${id} --failed`
      io.warn(`… and ${left.toLocaleString('en-US')} more that failed. ${all}`)
    },
  }
}
