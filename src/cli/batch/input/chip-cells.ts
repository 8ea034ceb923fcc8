import { type ChipCells, problemsOf } from '../../../values/chip-columns.ts'
import type { Problems } from './problems.ts'
import type { Cell } from './sheet.ts'

/** Reads the cells of chips, and adds every problem that a sheet shows of them, but for the UIDs. */
export class ChipCellsReader {
  readonly #problems: Problems
  readonly #isNew: boolean
  readonly #rows = { publicKey: new Map<string, number>(), label: new Map<string, number>() }

  /** @param isNew what a row says nothing of, its chip does not have */
  constructor(problems: Problems, isNew: boolean) {
    this.#problems = problems
    this.#isNew = isNew
  }

  read(row: number, columns: readonly string[], inputCells: readonly Cell[]): ChipCells {
    const cells: ChipCells = Object.fromEntries(
      columns.flatMap((column, i) => (inputCells[i] === undefined ? [] : [[column, inputCells[i] ?? '']])),
    )
    for (const { columns: named, cell, reason } of problemsOf(cells, this.#isNew))
      this.#problems.add(row, named.join(', '), cell === undefined ? reason : `"${cell}" ${reason}`)
    this.#unique('publicKey', row, cells.publicKey?.toLowerCase())
    this.#unique('label', row, cells.label)
    return cells
  }

  #unique(column: 'publicKey' | 'label', row: number, text: string | undefined): void {
    if (!text) return
    const before = this.#rows[column].get(text)
    if (before === undefined) this.#rows[column].set(text, row)
    else this.#problems.add(row, column, `"${text}" is already in row ${before}`)
  }
}
