import { uidOnWire } from '../../../nfc/uid.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { UidColumn } from '../input/chip-cells.ts'
import { changedIn } from '../plan.ts'
import { describeRow, type SheetKind, type SheetRow } from '../sheet-kind.ts'

export interface GuestbookRow extends SheetRow {
  /** Decimal. */
  readonly uid: string
}

/** @param event whose chips the rows name */
export const guestbookAssignment = (guestbookEventId = 0): SheetKind<GuestbookRow> => ({
  name: 'guestbook assign',
  sheet: {
    columns: ['uid'],
    required: ['uid'],
    parse: (_, problems) => {
      const uids = new UidColumn(problems)
      return {
        row: (row, [cell]) => {
          if (!cell) problems.add(row, 'uid', 'is missing')
          const uid = cell ? uids.read(row, cell) : undefined
          return uid === undefined ? undefined : { row, uid }
        },
        finish: (accepted) => uids.finish(accepted),
      }
    },
  },
  line: ({ uid }) => ({ uid: uidOnWire(uid), guestbookEventId }),
  label: 'Assigning',
  changed: (count) => `${formatNumber(count)} assigned`,
  describe: (result) => describeRow(result),
  question: (totals) => `Assign to ${counted(changedIn(totals), 'chip')}?`,
  undoQuestion: (count) => `Take back ${counted(count, 'assignment')}?`,
  hint: () => "See what a chip's next tap gives: tapchip refs show REF, tapchip otps show CODE",
  sheetOf: () => ({ heading: ['uid'], cells: ({ uid }) => [colons(uid)] }),
})

export const guestbookUnassignment = (guestbookEventId?: number): SheetKind<GuestbookRow> => ({
  ...guestbookAssignment(guestbookEventId),
  name: 'guestbook unassign',
  label: 'Unassigning',
  changed: (count) => `${formatNumber(count)} unassigned`,
  question: (totals) => `Take the event from ${counted(changedIn(totals), 'chip')}?`,
  undoQuestion: (count) => `Assign to ${counted(count, 'chip')} again?`,
  hint: () => 'See the events of a chip: tapchip chips show CHIP',
})
