import { UsageError } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'

interface Problem {
  /** Counted from 1, the heading not among them. Undefined: the sheet as a whole. */
  readonly row: number | undefined
  readonly column: string | undefined
  readonly why: string
}

/** What does not fit, collected over the whole input: a person mends a sheet once, not row by row. */
export class Problems {
  readonly #found: Problem[] = []

  add(row: number | undefined, column: string | undefined, why: string): void {
    this.#found.push({ row, column, why })
  }

  /** Throws, with every problem named, if there is one. */
  refuse(inputName: string): void {
    if (this.#found.length === 0) return
    const sorted = this.#found.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0))
    const lines = sorted.map(({ row, column, why }) => {
      const where = [row === undefined ? [] : [`row ${row}`], column === undefined ? [] : [column]]
        .flat()
        .join(', ')
      return clean(where === '' ? why : `${where}: ${why}`)
    })
    const rows = new Set(sorted.flatMap(({ row }) => row ?? []))
    const extent = rows.size === 0 ? '' : `: ${counted(rows.size, 'row does', 'rows do')} not fit`
    throw new UsageError(`${lines.join('\n')}\n${inputName} is refused${extent}. Nothing was written.`)
  }
}
