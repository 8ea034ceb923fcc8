import { Problems } from '../batch/input/problems.ts'
import { type Cell, readSheet, type SheetOptions } from '../batch/input/sheet.ts'
import type { Source } from '../batch/input/source.ts'
import { addChipProblems } from '../batch/kinds/import-sheet.ts'

export interface ChipRow {
  readonly row: number
  readonly label?: string
  readonly item?: string
  readonly variant?: string
  readonly redirectUrl?: string
}

const details = ['label', 'item', 'variant', 'redirectUrl'] as const
export const chipSheet = { columns: details, required: [], anyOf: details }

/** @throws UsageError that names every invalid row */
export const readChipRows = async (source: Source, options: SheetOptions): Promise<ChipRow[]> => {
  const problems = new Problems()
  const labels = new Map<string, number>()
  const rows: ChipRow[] = []
  await readSheet(source, options, problems, {
    row: (row, cells) => {
      const given = Object.fromEntries(details.flatMap((name, i) => givenIn(name, cells[i])))
      addChipProblems(problems, row, given)
      const before = given.label === undefined ? undefined : labels.get(given.label)
      if (before !== undefined) problems.add(row, 'label', `"${given.label}" is already in row ${before}`)
      else if (given.label !== undefined) labels.set(given.label, row)
      rows.push({ row, ...given })
    },
  })
  problems.refuse(source.name)
  return rows
}

const givenIn = (name: string, cell: Cell): [string, string][] => (cell ? [[name, cell]] : [])

/**
 * Assigns rows to chips. Only a chip that ended well uses up a row, and it keeps it: whatever fails in between, no
 * label shifts.
 */
export class RowsOfChips {
  readonly #rows: readonly ChipRow[]
  /** null if there is no sheet. */
  readonly #taken = new Map<string, ChipRow | null>()

  constructor(rows: readonly ChipRow[]) {
    this.#rows = rows
  }

  get done(): number {
    return this.#taken.size
  }

  has(uid: string): boolean {
    return this.#taken.has(uid)
  }

  /** @param label of the registered chip @returns undefined if no row is left */
  rowFor(uid: string, label: string | null): ChipRow | undefined {
    const own = this.#taken.get(uid)
    if (own !== undefined) return own ?? undefined
    const free = this.#free()
    return (label === null ? undefined : free.find((row) => row.label === label)) ?? free[0]
  }

  /** The row for the next new chip. */
  next(): ChipRow | undefined {
    return this.#free()[0]
  }

  take(uid: string, row: number | undefined): void {
    if (this.#taken.has(uid)) return
    this.#taken.set(uid, this.#rows.find((one) => one.row === row) ?? null)
  }

  #free(): ChipRow[] {
    const taken = new Set([...this.#taken.values()].map((row) => row?.row))
    return this.#rows.filter(({ row }) => !taken.has(row))
  }
}
