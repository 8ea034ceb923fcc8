import {
  type AppliedColumn,
  alsoApplied,
  appliedColumns,
  type ChipCells,
  type ChipValue,
  readOnlyColumns,
} from '../../../values/chip-columns.ts'
import { colons } from '../../uid.ts'
import { ChipCellsReader } from '../input/chip-cells.ts'
import { addDoubts, isOfNxp, UidColumn } from '../input/uid-column.ts'
import type { RowResult, SheetRow, SheetSpec } from '../sheet-kind.ts'

export interface ApplyRow extends SheetRow {
  /** Decimal. */
  readonly uid?: string | undefined
  /** The cells of the sheet (with the label if it names the chip), or the values they stand for. */
  readonly cells: ChipCells | { readonly [column in AppliedColumn]?: ChipValue<column> | null }
  readonly remove?: 'always' | undefined
}

export const applyColumns = [...appliedColumns, ...alsoApplied]

export const applySheet: SheetSpec<ApplyRow> = {
  columns: ['uid', ...applyColumns],
  required: [],
  anyOf: ['uid', 'label'],
  structured: new Set(['disabled']),
  alwaysIgnored: readOnlyColumns,
  parse: ({ flags: { dryRun } }, problems) => {
    const uids = new UidColumn(problems)
    const reader = new ChipCellsReader(problems, false)
    /** Rows of HaLo chips, whose UIDs are made from their keys. */
    const withKey = new Set<number>()
    let isAccepted = false
    return {
      row: (row, [uidText, ...inputCells]) => {
        const cells = reader.read(row, applyColumns, inputCells)
        if (!uidText && !cells.publicKey && !cells.label)
          problems.add(row, 'uid', 'is missing: give it, or the label of the chip')
        if (cells.publicKey) withKey.add(row)
        return { row, uid: uidText ? uids.read(row, uidText) : undefined, cells }
      },
      finish: (accepted) => {
        isAccepted = accepted
        uids.finish(accepted)
      },
      // UIDs of chips that are there are not doubted.
      planned: ({ row, uid, status }: RowResult) => {
        if (isAccepted || dryRun || status !== 'created' || typeof uid !== 'string') return
        if (!withKey.has(row) && !isOfNxp(uid)) addDoubts(problems, [{ row, text: colons(uid) }])
      },
    }
  },
}
