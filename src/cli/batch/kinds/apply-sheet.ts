import { appliedColumns, checkCell, exportedAlone } from '../../../values/chip-row.ts'
import type { Problems } from '../input/problems.ts'
import type { Cell } from '../input/sheet.ts'
import { UidColumn } from '../input/uid-column.ts'
import type { SheetSpec } from '../kind.ts'
import {
  type ApplyPlan,
  type ApplyRow,
  type Column,
  otherColumns,
  type Value,
  type Values,
} from './apply-row.ts'

// A spreadsheet writes these in the language of its user.
const isTrue = /^(true|yes|1|wahr|vrai|vero|verdadero)$/i
const isFalse = /^(|false|no|0|falsch|faux|falso)$/i

/** Adds every problem of the row. */
class ApplyReader {
  readonly #problems: Problems
  readonly #labels = new Map<string, number>()

  constructor(problems: Problems) {
    this.#problems = problems
  }

  valuesIn(row: number, cells: ReadonlyMap<Column, Cell>): Values {
    const values: { [column in Column]?: Value } = {}
    for (const [column, cell] of cells) {
      const read = this.#read(row, column, cell ?? '')
      if (read !== undefined) values[column] = read
    }
    return values
  }

  uniqueLabel(row: number, label: string): void {
    const before = this.#labels.get(label)
    if (before === undefined) this.#labels.set(label, row)
    else this.#problems.add(row, 'label', `"${label}" is already in row ${before}`)
  }

  #read(row: number, column: Column, cell: string): Value | undefined {
    const refuse = (why: string): undefined => {
      this.#problems.add(row, column, cell === '' ? why : `"${cell}" ${why}`)
    }
    if (column === 'disabled') {
      if (isTrue.test(cell)) return true
      return isFalse.test(cell) ? false : refuse('must be true or false')
    }
    if (column === 'chipGroup')
      return cell === '' ? refuse('must not be empty: every chip belongs to a chip group') : cell
    if (cell === '') return null
    if (column === 'keySet')
      return /^\d{1,10}$/.test(cell) ? Number(cell) : refuse('must be the number of a key set')
    const why = checkCell(column, cell)
    if (why !== undefined) return refuse(why)
    return column === 'chainId' ? Number(cell) : cell
  }
}

export const applySheet: SheetSpec<ApplyRow, ApplyPlan> = {
  columns: ['uid', ...appliedColumns, ...otherColumns],
  required: [],
  anyOf: ['uid', 'label'],
  structured: new Set(['disabled']),
  alwaysIgnored: exportedAlone,
  parse: ({ flags: { team } }, problems) => {
    const uids = new UidColumn(problems)
    const reader = new ApplyReader(problems)
    return {
      row: (row, [uidText, ...cells]) => {
        const given = new Map(
          appliedColumns.flatMap((column, i) =>
            cells[i] === undefined ? [] : [[column, cells[i]] as const],
          ),
        )
        const [publicKey, counter, revision] = cells.slice(appliedColumns.length)
        const label = given.get('label') || undefined
        if (label !== undefined) reader.uniqueLabel(row, label)
        const byLabel = uidText || publicKey ? undefined : label
        if (byLabel !== undefined) given.delete('label')
        const uid = uidText ? uids.read(row, uidText) : undefined
        if (!uidText && !publicKey && byLabel === undefined)
          problems.add(row, 'uid', 'is missing: give it, or the label of the chip')
        const why = publicKey ? checkCell('publicKey', publicKey) : undefined
        if (why !== undefined) problems.add(row, 'publicKey', `"${publicKey}" ${why}`)
        if (counter && !/^\d{1,10}$/.test(counter))
          problems.add(row, 'lastCounter', `"${counter}" must be a whole number from 0`)
        const values = reader.valuesIn(row, given)
        return {
          row,
          uid,
          byLabel,
          team,
          values,
          publicKey: publicKey || undefined,
          lastCounter: counter ? Number(counter) : undefined,
          revision: revision || undefined,
        }
      },
      finish: (accepted) => uids.finish(accepted),
    }
  },
}
