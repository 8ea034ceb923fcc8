import { uidOnWire } from '../../../nfc/uid.ts'
import { isInstant } from '../../../values/date.ts'
import { clean, counted, formatNumber } from '../../io/text.ts'
import { bothForms, colons } from '../../uid.ts'
import { UidColumn } from '../input/chip-cells.ts'
import { changedIn } from '../plan.ts'
import type { RowResult, SheetKind, SheetRow } from '../sheet-kind.ts'

/** Text and time of the badge on the tap page, unchanged from the sheet. */
export interface AssignmentContent {
  readonly startsAt?: string | undefined
  readonly endsAt?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
}

export interface AssignmentRow extends SheetRow, AssignmentContent {
  /** Decimal. */
  readonly uid: string
  readonly badgeEventId: number
}

const contents = ['startsAt', 'endsAt', 'title', 'description'] as const

const describe = ({ row, uid, badgeEventId, status, replaced, error }: RowResult): string =>
  clean(
    [
      `row ${row}`,
      ...(typeof uid === 'string' ? [bothForms(uid)] : []),
      `event ${badgeEventId}`,
      status ?? 'pending',
      ...(replaced === true ? ['replaces another window or text'] : []),
      ...(error === undefined ? [] : [error]),
    ].join('  '),
  )

/**
 * @param event of all rows; undefined: the sheet has a column for it
 * @param content what rows have that do not say otherwise
 */
const sheetOf = (
  columns: readonly (typeof contents)[number][],
  event: number | undefined,
  content: AssignmentContent,
): SheetKind<AssignmentRow>['sheet'] => {
  const required = event === undefined ? ['uid', 'badgeEventId'] : ['uid']
  const all = [...required, ...columns]
  return {
    columns: all,
    required,
    parse: (_, problems) => {
      // A chip may have several events, but each only once.
      const uidsOf = new Map<string, UidColumn>()
      return {
        row: (row, values) => {
          const cells: Partial<Record<string, string>> = {}
          for (const [i, column] of all.entries()) {
            const value = values[i]?.trim()
            if (value) cells[column] = value
          }
          const badgeEventId = cells.badgeEventId ?? String(event ?? '')
          const uids = uidsOf.get(badgeEventId) ?? new UidColumn(problems)
          uidsOf.set(badgeEventId, uids)
          const uid = cells.uid ? uids.read(row, cells.uid) : undefined
          if (!cells.uid) problems.add(row, 'uid', 'is missing')
          if (badgeEventId === '') problems.add(row, 'badgeEventId', 'is missing')
          else if (!/^[1-9]\d{0,14}$/.test(badgeEventId))
            problems.add(row, 'badgeEventId', `"${badgeEventId}" must be the ID of a badge event`)
          const { startsAt, endsAt, title, description } = { ...content, ...cells }
          for (const [column, text] of Object.entries({ startsAt, endsAt }))
            if (text && !isInstant(text))
              problems.add(row, column, `"${text}" must be a time in UTC, as 2026-12-31T18:00:00Z`)
          if (startsAt && endsAt && Date.parse(endsAt) < Date.parse(startsAt))
            problems.add(row, 'endsAt', `"${endsAt}" must not be before startsAt`)
          return uid === undefined
            ? undefined
            : { row, uid, badgeEventId: Number(badgeEventId), startsAt, endsAt, title, description }
        },
        finish: (accepted) => {
          for (const uids of uidsOf.values()) uids.finish(accepted)
        },
      }
    },
  }
}

const line = ({ uid, row: _, ...rest }: AssignmentRow): object => ({ uid: uidOnWire(uid), ...rest })

export const badgeAssignment = (
  event?: number,
  content: AssignmentContent = {},
): SheetKind<AssignmentRow> => ({
  name: 'badge-events assign',
  sheet: sheetOf(contents, event, content),
  line,
  label: 'Assigning',
  changed: (count) => `${formatNumber(count)} assigned`,
  describe,
  question: (totals) => {
    const { replaces = 0 } = totals
    const others = replaces > 0 ? ` (${counted(replaces, 'chip')} with another window or text)` : ''
    return `Assign to ${counted(changedIn(totals), 'chip')}${others}?`
  },
  undoQuestion: (count) => `Take back ${counted(count, 'assignment')}?`,
  hint: () => "See what a chip's next tap gives: tapchip refs show REF",
  sheetOf: () => ({
    heading: ['uid', 'badgeEventId', ...contents],
    cells: (row) => [
      colons(row.uid),
      String(row.badgeEventId),
      ...contents.map((column) => row[column] ?? ''),
    ],
  }),
})

export const badgeUnassignment = (event?: number): SheetKind<AssignmentRow> => ({
  ...badgeAssignment(event),
  name: 'badge-events unassign',
  sheet: sheetOf([], event, {}),
  label: 'Unassigning',
  changed: (count) => `${formatNumber(count)} unassigned`,
  question: (totals) => `Take the event from ${counted(changedIn(totals), 'chip')}?`,
  undoQuestion: (count) => `Assign to ${counted(count, 'chip')} again?`,
  hint: () => 'See its chips: tapchip chips show CHIP',
  sheetOf: () => ({
    heading: ['uid', 'badgeEventId'],
    cells: ({ uid, badgeEventId }) => [colons(uid), String(badgeEventId)],
  }),
})
