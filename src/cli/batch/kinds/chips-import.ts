import { uidOnWire } from '../../../nfc/uid.ts'
import { type ChipCells, importedColumns, notImported } from '../../../values/chip-columns.ts'
import { counted, formatNumber, shellQuoted } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { ChipCellsReader, UidColumn } from '../input/chip-cells.ts'
import { describeRow, type KindMessages, type SheetKind, type SheetRow } from '../sheet-kind.ts'

/** A chip is identified by its UID, or in the HaLo family by its public key. */
interface ImportRow extends SheetRow {
  /** Decimal. */
  readonly uid: string | undefined
  readonly cells: ChipCells
}

/** @param rows counts the rows that are read: those whose chip needs a key set are all but HaLo chips */
export const chipsImport = (rows: { needKeySet: number } = { needKeySet: 0 }): SheetKind<ImportRow> => ({
  name: 'chips import',
  isAdmin: true,
  isPlanned: false,
  isQuiet: true,
  sheet: {
    columns: importedColumns,
    required: [],
    anyOf: ['uid', 'publicKey'],
    alwaysIgnored: notImported,
    parse: (_, problems) => {
      const uids = new UidColumn(problems)
      const reader = new ChipCellsReader(problems, true)
      return {
        row: (row, [uidText, ...inputCells]) => {
          // Empty cells are absent.
          const cells = reader.read(
            row,
            importedColumns.slice(1),
            inputCells.map((cell) => cell || undefined),
          )
          if (!cells.publicKey) rows.needKeySet += 1
          if (!uidText && !cells.publicKey) problems.add(row, 'uid', 'is missing')
          return { row, uid: uidText ? uids.read(row, uidText, !cells.publicKey) : undefined, cells }
        },
        finish: (accepted) => uids.finish(accepted),
      }
    },
  },
  line: ({ uid, cells }) => ({ ...(uid === undefined ? {} : { uid: uidOnWire(uid) }), ...cells }),
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

/** The batch that undoes an import. */
export const chipsImportUndo: KindMessages = {
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
