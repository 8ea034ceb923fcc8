import { uidOnWire } from '../../../nfc/uid.ts'
import {
  type AppliedColumn,
  alsoApplied,
  appliedColumns,
  type ChipCells,
  type ChipValue,
  readOnlyColumns,
} from '../../../values/chip-columns.ts'
import { isJsonObject } from '../../../values/json.ts'
import { counted, formatNumber, shown } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { addDoubts, ChipCellsReader, isOfNxp, UidColumn } from '../input/chip-cells.ts'
import { changedIn } from '../plan.ts'
import {
  describeRow,
  type KindMessages,
  type RowResult,
  type SheetKind,
  type SheetRow,
  type SheetSpec,
  type Totals,
} from '../sheet-kind.ts'

export interface ApplyRow extends SheetRow {
  /** Decimal. */
  readonly uid?: string | undefined
  /** The cells of the sheet (with the label if it names the chip), or the values they stand for. */
  readonly cells: ChipCells | { readonly [column in AppliedColumn]?: ChipValue<column> | null }
  readonly remove?: 'always' | undefined
}

const applyColumns = [...appliedColumns, ...alsoApplied]

const applySheet: SheetSpec<ApplyRow> = {
  columns: ['uid', ...applyColumns],
  required: [],
  anyOf: ['uid', 'label', 'publicKey'],
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
      // UIDs of existing chips are not questioned.
      planned: ({ row, uid, status }: RowResult) => {
        if (isAccepted || dryRun || status !== 'created' || typeof uid !== 'string') return
        if (!withKey.has(row) && !isOfNxp(uid)) addDoubts(problems, [{ row, text: colons(uid) }])
      },
    }
  },
}

const line = ({ uid, cells, remove }: ApplyRow): object => ({
  uid: uid === undefined ? undefined : uidOnWire(uid),
  ...cells,
  remove,
})

export const describeApplied = (result: RowResult): string => {
  const changes = isJsonObject(result.changes) && result.status !== 'failed' ? result.changes : {}
  const parts = Object.entries(changes).flatMap(([column, change]) =>
    isJsonObject(change) ? [`${column} ${shown(change.from)} → ${shown(change.to)}`] : [],
  )
  return describeRow(result, ...parts)
}

const some = (counts: readonly (readonly [number | undefined, string])[]): string =>
  counts.flatMap(([count = 0, what]) => (count > 0 ? [`${formatNumber(count)} ${what}`] : [])).join(', ')

const planTotals = (totals: Totals): string => {
  const { created = 0, changed = 0, removed = 0, unchanged = 0, conflict = 0, failed = 0 } = totals
  const within = some([
    [totals.moves, 'to another chip group'],
    [totals.unlinks, 'unlinked'],
    [totals.disables, 'disabled'],
  ])
  const parts = [
    `${formatNumber(created)} to create`,
    `${formatNumber(changed)} to change${within === '' ? '' : ` (${within})`}`,
    ...(removed > 0 ? [`${formatNumber(removed)} to remove`] : []),
    `${formatNumber(unchanged)} unchanged`,
    `${formatNumber(conflict)} in conflict`,
    `${formatNumber(failed)} would fail`,
  ]
  return `Plan: ${parts.join(', ')}.`
}

/** Shared by all batches that change chips the way `chips apply` does. */
const messages = (name: string): KindMessages & Pick<SheetKind<ApplyRow>, 'line'> => ({
  name,
  isAdmin: true,
  label: 'Applying',
  describe: describeApplied,
  planTotals,
  question: (totals, does) => `Apply this to ${counted(changedIn(totals), 'chip')}${does}?`,
  undoQuestion: (count) => `Restore ${counted(count, 'chip')}?`,
  remark: (statuses) => {
    const created = statuses.get('created') ?? 0
    return created > 0 ? `Of these, ${counted(created, 'chip was', 'chips were')} created.` : undefined
  },
  line,
})

export const chipsApply: SheetKind<ApplyRow> = {
  ...messages('chips apply'),
  isPlanShown: true,
  sheet: applySheet,
  sheetOf: (rows) => {
    const heading = [
      ...(rows.some(({ uid }) => uid !== undefined) ? ['uid'] : []),
      ...applyColumns.filter((column) => rows.some(({ cells }) => column in cells)),
    ]
    return {
      heading,
      cells: ({ uid, cells }) => {
        const known: { readonly [column in string]?: unknown } = { ...cells, uid: colons(uid ?? null) }
        return heading.map((column) => String(known[column] ?? ''))
      },
    }
  },
}

const beforeRun = (totals: Totals): string | undefined => {
  const { unchanged = 0, conflict = 0, failed = 0 } = totals
  const chips = changedIn(totals) + unchanged + conflict + failed
  const parts = [
    ...(unchanged > 0 ? [`${formatNumber(unchanged)} would stay as they are`] : []),
    ...(conflict + failed > 0 ? [`${formatNumber(conflict + failed)} would fail`] : []),
  ]
  return parts.length === 0 ? undefined : `Of ${counted(chips, 'chip')}, ${parts.join(', and ')}.`
}

const selection = (name: string) => ({ ...messages(name), beforeRun })

/** Chips that flags select, by the command. */
export const chipSelections = {
  disable: selection('chips disable'),
  enable: selection('chips enable'),
  link: selection('chips link'),
  unlink: selection('chips unlink'),
  move: selection('chips move'),
  rename: selection('chips rename'),
  remove: {
    ...selection('chips remove'),
    label: 'Removing',
    changed: (count: number) => `${formatNumber(count)} removed`,
    isFinal: true,
    remark: () => undefined,
  },
} as const satisfies Readonly<Record<string, KindMessages>>
