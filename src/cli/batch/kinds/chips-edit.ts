import { uidOnWire } from '../../../nfc/uid.ts'
import { counted, shown } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { ChipCellsReader, UidColumn } from '../input/chip-cells.ts'
import { changedIn } from '../plan.ts'
import { describeRow, type RowResult, type SheetKind, type SheetRow } from '../sheet-kind.ts'

interface EditRow extends SheetRow {
  /** Decimal. */
  readonly uid: string
  readonly redirectUrl: string | null
}

/** A plan says where taps would lead; the result of a run only where they led before. */
export const describeEdit = (result: RowResult): string => {
  const { status, previous, redirectUrl, error } = result
  if (error !== undefined || previous === undefined) return describeRow(result)
  const isChanged = status === 'changed'
  if (redirectUrl === undefined)
    return describeRow(result, isChanged ? `from ${shown(previous)}` : shown(previous))
  return describeRow(result, isChanged ? `${shown(previous)} → ${shown(redirectUrl)}` : shown(redirectUrl))
}

export const chipsEdit: SheetKind<EditRow> = {
  name: 'chips edit',
  sheet: {
    columns: ['uid', 'redirectUrl'],
    required: ['uid', 'redirectUrl'],
    parse: (_, problems) => {
      const uids = new UidColumn(problems)
      const reader = new ChipCellsReader(problems, false)
      return {
        row: (row, [uidText, urlText]) => {
          if (!uidText) problems.add(row, 'uid', 'is missing')
          // An empty cell clears the URL; a row without the cell may be a mistake.
          if (urlText === undefined)
            problems.add(
              row,
              'redirectUrl',
              'is missing; to clear it: an empty cell, null in JSON, or --clear in place of the column',
            )
          reader.read(row, ['redirectUrl'], [urlText])
          const uid = uidText ? uids.read(row, uidText) : undefined
          return uid === undefined ? undefined : { row, uid, redirectUrl: urlText || null }
        },
        finish: (accepted) => uids.finish(accepted),
      }
    },
  },
  line: ({ uid, redirectUrl }) => ({ uid: uidOnWire(uid), redirectUrl }),
  label: 'Editing',
  describe: describeEdit,
  question: (totals) => `Edit ${counted(changedIn(totals), 'chip')}?`,
  undoQuestion: (count) => `Restore ${counted(count, 'chip')}?`,
  sheetOf: () => ({
    heading: ['uid', 'redirectUrl'],
    cells: ({ uid, redirectUrl }) => [colons(uid), redirectUrl ?? ''],
  }),
}
