import type { Io } from '../io/io.ts'
import { clean } from '../io/text.ts'
import { groupFrom, ranges } from './input/problems.ts'

/** More than anyone reads; `batch report` has the rest. */
const maxShown = 50

interface Failure {
  readonly row: number
  readonly why: string
}

interface FailureGroup {
  readonly failures: Failure[]
  readonly lines: string[]
}

const kindOf = (why: string): string => why.replace(/\b(0x[0-9a-fA-F]{40}|\d+)\b/g, '…')

/**
 * Prints failures as they come, but not a million of them: the first one of each reason at once, the others at the end,
 * in one line if there are many.
 */
export const failureReporter = (io: Io) => {
  const groups = new Map<string, FailureGroup>()
  let printed = 0
  let remaining = 0
  const print = (line: string, rows = 1): void => {
    if (printed < maxShown) io.warn(line)
    else remaining += rows
    printed += 1
  }
  const printGroup = ({ failures, lines }: FailureGroup, kind: string): void => {
    if (failures.length < groupFrom) {
      for (const line of lines) print(line)
      return
    }
    const [first] = failures
    const isSame = failures.every(({ why }) => why === first?.why)
    const rows = ranges(failures.map(({ row }) => row))
    print(clean(`rows ${rows}: ${isSame ? first?.why : kind}`), failures.length)
  }
  return {
    report: (line: string, failure: Failure): void => {
      const kind = kindOf(failure.why)
      const before = groups.get(kind)
      if (before === undefined) {
        groups.set(kind, { failures: [failure], lines: [] })
        print(line)
        return
      }
      before.failures.push(failure)
      // From here on, one line names them all.
      if (before.failures.length < groupFrom) before.lines.push(line)
    },
    end: (id: string): void => {
      for (const [kind, one] of groups) printGroup(one, kind)
      if (remaining === 0) return
      io.warn(
        `… and ${remaining.toLocaleString('en-US')} more failed. See all of them: tapchip batch report ${id} --failed`,
      )
    },
  }
}
