import { appliedColumns, checkCell, exportedAlone } from '../../../values/chip-row.ts'
import { colons } from '../../uid.ts'
import type { Problems } from '../input/problems.ts'
import type { Cell } from '../input/sheet.ts'
import { addDoubts, isOfNxp, UidColumn } from '../input/uid-column.ts'
import type { RowResult, SheetRow, SheetSpec } from '../sheet-kind.ts'

type Column = (typeof appliedColumns)[number]
type Value = string | number | boolean | null
export type Values = { readonly [column in Column]?: Value }

export interface ApplyRow extends SheetRow {
  /** Decimal. */
  readonly uid?: string | undefined
  /** Names the chip if there is no UID. */
  readonly byLabel?: string | undefined
  /** What the chip gets. */
  readonly values: Values
  readonly publicKey?: string | undefined
  readonly lastCounter?: number | undefined
  readonly revision?: string | undefined
  readonly remove?: 'always' | undefined
}

export const otherColumns = ['publicKey', 'lastCounter', 'revision'] as const

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

export const applySheet: SheetSpec<ApplyRow> = {
  columns: ['uid', ...appliedColumns, ...otherColumns],
  required: [],
  anyOf: ['uid', 'label'],
  structured: new Set(['disabled']),
  alwaysIgnored: exportedAlone,
  parse: ({ flags: { dryRun } }, problems) => {
    const uids = new UidColumn(problems)
    const reader = new ApplyReader(problems)
    /** Rows of HaLo chips, whose UIDs are made from their keys. */
    const withKey = new Set<number>()
    let isAccepted = false
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
        if (publicKey) withKey.add(row)
        const why = publicKey ? checkCell('publicKey', publicKey) : undefined
        if (why !== undefined) problems.add(row, 'publicKey', `"${publicKey}" ${why}`)
        if (counter && !/^\d{1,10}$/.test(counter))
          problems.add(row, 'lastCounter', `"${counter}" must be a whole number from 0`)
        const values = reader.valuesIn(row, given)
        return {
          row,
          uid,
          byLabel,
          values,
          publicKey: publicKey || undefined,
          lastCounter: counter ? Number(counter) : undefined,
          revision: revision || undefined,
        }
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
