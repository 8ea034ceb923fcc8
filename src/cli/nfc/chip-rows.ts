import { Problems } from '../batch/input/problems.ts'
import { type Cell, readSheet, type SheetOptions } from '../batch/input/sheet.ts'
import type { Source } from '../batch/input/source.ts'
import { addChipProblems } from '../batch/kinds/chips-import.ts'

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

/** The chips of a box that are done, each with its row. Stations may share a sheet, so the daemon says which is free. */
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

  /** @param position in the sheet, from 1 */
  at(position: number): ChipRow | undefined {
    return this.#rows[position - 1]
  }

  /** True unless another chip of this box has the row. */
  isFree(row: ChipRow | undefined, uid: string): boolean {
    return [...this.#taken].every(([by, taken]) => taken === null || taken !== row || by === uid)
  }

  /** @param label of a registered chip @returns the row that is meant for it */
  labelled(label: string | null): ChipRow | undefined {
    return label === null ? undefined : this.#rows.find((row) => row.label === label)
  }

  /** A row as a session takes it: its position and its values. */
  detailsOf(row: ChipRow | undefined): Partial<ChipRow> {
    return row === undefined ? {} : { ...row, row: this.#rows.indexOf(row) + 1 }
  }

  /** The row for the next new chip, unless another station takes it first. */
  next(): ChipRow | undefined {
    const taken = new Set([...this.#taken.values()].map((row) => row?.row))
    return this.#rows.find(({ row }) => !taken.has(row))
  }

  take(uid: string, row: number | undefined): void {
    if (this.#taken.has(uid)) return
    this.#taken.set(uid, this.#rows.find((one) => one.row === row) ?? null)
  }
}
