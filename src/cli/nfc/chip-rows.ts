import { setupColumns } from '../../values/chip-columns.ts'
import { ChipCellsReader } from '../batch/input/chip-cells.ts'
import { Problems } from '../batch/input/problems.ts'
import { readSheet, type SheetOptions } from '../batch/input/sheet.ts'
import type { Source } from '../batch/input/source.ts'

export type ChipRow = { readonly row: number } & {
  readonly [column in (typeof setupColumns)[number]]?: string | undefined
}

export const chipSheet = { columns: setupColumns, required: [], anyOf: setupColumns }

/** @throws UsageError that names every invalid row */
export const readChipRows = async (source: Source, options: SheetOptions): Promise<ChipRow[]> => {
  const problems = new Problems()
  const reader = new ChipCellsReader(problems, true)
  const rows: ChipRow[] = []
  await readSheet(source, options, problems, {
    row: (row, cells) => {
      const values = cells.map((cell) => cell || undefined)
      rows.push({ row, ...reader.read(row, setupColumns, values) })
    },
  })
  problems.refuse(source.name)
  return rows
}

/** The chips of a box that are done, each with its row. Stations may share a sheet, so the daemon says which is free. */
export class RowsOfChips {
  readonly #rows: readonly ChipRow[]
  /** null if there is no sheet. */
  readonly #rowByUid = new Map<string, ChipRow | null>()

  constructor(rows: readonly ChipRow[]) {
    this.#rows = rows
  }

  get done(): number {
    return this.#rowByUid.size
  }

  has(uid: string): boolean {
    return this.#rowByUid.has(uid)
  }

  /** @param position in the sheet, from 1 */
  at(position: number): ChipRow | undefined {
    return this.#rows[position - 1]
  }

  /** True unless another chip of this box has the row. */
  isFree(row: ChipRow | undefined, uid: string): boolean {
    return [...this.#rowByUid].every(([by, usedRow]) => usedRow === null || usedRow !== row || by === uid)
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
    const usedRows = new Set([...this.#rowByUid.values()].map((row) => row?.row))
    return this.#rows.find(({ row }) => !usedRows.has(row))
  }

  take(uid: string, row: number | undefined): void {
    if (this.#rowByUid.has(uid)) return
    this.#rowByUid.set(uid, this.#rows.find((one) => one.row === row) ?? null)
  }
}
