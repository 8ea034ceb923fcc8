import { showInvisible } from '../../../values/invisible.ts'
import { Interrupted, UsageError } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'

interface Problem {
  /** Counted from 1 without the heading. Undefined: the sheet as a whole. */
  readonly row: number | undefined
  readonly column: string | undefined
  readonly why: string
}

/** From this number of rows with the same problem, one line names them all: nobody reads five thousand lines. */
export const groupFrom = 10

/** All problems of an input, collected so that a person can fix the sheet once and not row by row. */
export class Problems {
  readonly #found: Problem[] = []

  add(row: number | undefined, column: string | undefined, why: string): void {
    this.#found.push({ row, column, why })
  }

  has(row: number): boolean {
    return this.#found.some((problem) => problem.row === row)
  }

  /**
   * Asks the daemon about the valid rows, which may add problems, and then refuses the input for all problems at once.
   * If the ones known so far are enough to refuse it, the daemon need not answer.
   */
  async withAnswers<T>(inputName: string, ask: () => Promise<T>): Promise<T> {
    let answer: T
    try {
      answer = await ask()
    } catch (error) {
      if (!(error instanceof Interrupted)) this.refuse(inputName)
      throw error
    }
    this.refuse(inputName)
    return answer
  }

  refuse(inputName: string): void {
    if (this.#found.length === 0) return
    const sorted = this.#found.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0))
    const lines = [...groupsOf(sorted).values()].flatMap((group) =>
      group.length < groupFrom ? group.map(lineOf) : [lineOfMany(group)],
    )
    const rows = new Set(sorted.flatMap(({ row }) => row ?? []))
    const extent = rows.size === 0 ? '' : `: ${counted(rows.size, 'row is', 'rows are')} invalid`
    throw new UsageError(`${lines.join('\n')}\n${inputName} was refused${extent}. Nothing was written.`)
  }
}

const quoted = (line: string): string => clean(showInvisible(line))

const lineOf = ({ row, column, why }: Problem): string => {
  const where = [row === undefined ? [] : [`row ${row}`], column === undefined ? [] : [column]]
    .flat()
    .join(', ')
  return quoted(where === '' ? why : `${where}: ${why}`)
}

/** Splits the quoted cell from the reason. */
const parts = (why: string) => {
  const cell = /^"[^"]*" /.exec(why)?.[0] ?? ''
  return { cell: cell.trimEnd(), reason: why.slice(cell.length) }
}

/** Groups problems that differ only by row and cell, if there are many; the others keep their order. */
const groupsOf = (sorted: readonly Problem[]): Map<string, readonly Problem[]> => {
  const keyOf = ({ row, column, why }: Problem) =>
    row === undefined ? `${column}: ${why}` : `row, ${column}: ${parts(why).reason}`
  const counts = new Map<string, number>()
  for (const problem of sorted) counts.set(keyOf(problem), (counts.get(keyOf(problem)) ?? 0) + 1)
  const groups = new Map<string, Problem[]>()
  for (const [i, problem] of sorted.entries()) {
    const key = keyOf(problem)
    const many = (counts.get(key) ?? 0) >= groupFrom
    const group = groups.get(many ? key : `${i}`) ?? []
    group.push(problem)
    groups.set(many ? key : `${i}`, group)
  }
  return groups
}

const lineOfMany = (group: readonly Problem[]): string => {
  const [first] = group
  if (first === undefined) return ''
  const { cell, reason } = parts(first.why)
  const where = `rows ${ranges(group.flatMap(({ row }) => row ?? []))}`
  const example = cell === '' ? '' : ` (the first: ${cell})`
  return quoted(`${where}${first.column === undefined ? '' : `, ${first.column}`}: ${reason}${example}`)
}

/** 1-4, 7, 9-12. */
export const ranges = (rows: readonly number[]): string => {
  const spans: [number, number][] = []
  for (const row of rows) {
    const last = spans.at(-1)
    if (last && row <= last[1] + 1) last[1] = row
    else spans.push([row, row])
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ')
}
