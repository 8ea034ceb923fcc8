import {
  type ChipColumn,
  type ChipValues,
  chipColumns,
  notImported,
  problemsOf,
} from '../../../values/chip-row.ts'
import { counted, formatNumber, shellQuoted } from '../../io/text.ts'
import { colons, uidOnWire } from '../../uid.ts'
import type { Problems } from '../input/problems.ts'
import { UidColumn } from '../input/uid-column.ts'
import { describeRow, type KindWords, type SheetKind, type SheetRow } from '../sheet-kind.ts'

/** A chip is identified by its UID, or in the HaLo family by its public key. Cells are as in the sheet. */
interface ImportRow extends SheetRow {
  /** Decimal. */
  readonly uid: string | undefined
  readonly values: ChipValues
}

const columnsAfterUid = chipColumns.slice(1)

/** Checks everything in a row but its UID. */
export const addChipProblems = (problems: Problems, row: number, values: ChipValues): void => {
  for (const { columns, cell, reason } of problemsOf(values))
    problems.add(row, columns.join(', '), cell === undefined ? reason : `"${cell}" ${reason}`)
}

/** @param rows counts the rows that are read: those whose chip needs a key set are all but HaLo chips */
export const chipsImport = (rows: { needKeySet: number } = { needKeySet: 0 }): SheetKind<ImportRow> => ({
  name: 'chips import',
  isAdmin: true,
  isPlanned: false,
  isQuiet: true,
  sheet: {
    columns: chipColumns,
    required: [],
    anyOf: ['uid', 'publicKey'],
    alwaysIgnored: notImported,
    parse: (_, problems) => {
      const uids = new UidColumn(problems)
      const seen = { publicKey: new Map<string, number>(), label: new Map<string, number>() }
      const unique = (column: keyof typeof seen, row: number, text: string): void => {
        const before = seen[column].get(text)
        if (before === undefined) seen[column].set(text, row)
        else problems.add(row, column, `"${text}" is already in row ${before}`)
      }
      return {
        row: (row, [uidText, ...cells]) => {
          const values: { [column in ChipColumn]?: string } = {}
          for (const [i, column] of columnsAfterUid.entries()) {
            const cell = cells[i]
            if (cell) values[column] = cell
          }
          const { publicKey, label } = values
          if (publicKey) unique('publicKey', row, publicKey.toLowerCase())
          else rows.needKeySet += 1
          if (label) unique('label', row, label)
          if (!uidText && !publicKey) problems.add(row, 'uid', 'is missing')
          addChipProblems(problems, row, values)
          return { row, uid: uidText ? uids.read(row, uidText, !publicKey) : undefined, values }
        },
        finish: (accepted) => uids.finish(accepted),
      }
    },
  },
  line: ({ uid, values }) => ({ ...(uid === undefined ? {} : { uid: uidOnWire(uid) }), ...values }),
  label: 'Importing',
  changed: (count) => `${counted(count, 'chip')} created`,
  describe: (result) => describeRow(result),
  dryRun: ({ created = 0, unchanged = 0, failed = 0, conflict = 0 }) =>
    `Dry run: ${counted(created, 'chip')} would be created, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed + conflict)} would fail. Nothing was written.`,
  question: ({ created = 0 }) => `Import ${counted(created, 'chip')}?`,
  undoQuestion: (count) => `Remove ${counted(count, 'chip')}?`,
  hint: ({ settings: { chipGroup } }) =>
    typeof chipGroup === 'string'
      ? `See them: tapchip chips list --chip-group ${shellQuoted(chipGroup)}`
      : undefined,
  sheetOf: () => ({ heading: ['uid'], cells: ({ uid }) => [colons(uid ?? null)] }),
})

/** What an undo of an import makes. */
export const chipsImportUndo: KindWords = {
  name: 'chips import undo',
  isAdmin: true,
  isFinal: true,
  label: 'Removing',
  changed: (count) => `${formatNumber(count)} removed`,
  describe: (result) => describeRow(result),
  dryRun: ({ removed = 0, unchanged = 0, failed = 0, conflict = 0 }) =>
    `Dry run: ${counted(removed, 'chip')} would be removed, ${formatNumber(unchanged)} unchanged, ${formatNumber(failed + conflict)} would fail. Nothing was written.`,
  question: ({ removed = 0 }) => `Remove ${counted(removed, 'chip')}?`,
}
