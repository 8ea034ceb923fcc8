import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isInstant } from '../../../values/date.ts'
import { isJsonObject } from '../../../values/json.ts'
import { exitCodes } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'
import { bothForms, colons, uidOnWire } from '../../uid.ts'
import { dryRunLines, refused } from '../answers.ts'
import type { Cell } from '../input/sheet.ts'
import { UidColumn } from '../input/uid-column.ts'
import {
  isNumber,
  isStatus,
  isText,
  type Outcome,
  orAbsent,
  type Result,
  type Row,
  shape,
} from '../journal.ts'
import type { RowKind } from '../kind.ts'
import { eventColumns, eventForm, eventNeeds, eventProblems, imageJudge } from './badge-form.ts'
import { assignmentUndo } from './removal-undo.ts'

/** Cells by column. The image is an absolute path. */
interface BadgeRow extends Row {
  readonly cells: Readonly<Record<string, string>>
}

interface BadgeResult extends Result {
  readonly id?: number | undefined
  /** The chip had the event already, with another window or text. */
  readonly replaced?: boolean | undefined
}

type BadgeKind = RowKind<BadgeRow, BadgeResult, never>

const named = (columns: readonly string[], values: readonly Cell[]): Record<string, string> =>
  Object.fromEntries(
    columns.flatMap((column, i) => {
      const value = values[i]?.trim()
      return value ? [[column, value]] : []
    }),
  )

const badges = {
  isRow: shape<BadgeRow>({
    row: isNumber,
    cells: (cells) => isJsonObject(cells) && Object.values(cells).every(isText),
  }),
  isResult: shape<BadgeResult>({
    row: isNumber,
    status: isStatus,
    id: orAbsent(isNumber),
    replaced: orAbsent((value) => typeof value === 'boolean'),
    error: orAbsent(isText),
  }),
  // One row at a time: an image is a few megabytes, and one error may end the batch.
  requests: { rows: 1, atOnce: 1 },
  describe: ({ row, status, id, error }, { cells }) => {
    const what = cells.uid ? `${bothForms(cells.uid)}  event ${cells.badgeEventId}` : `"${cells.name}"`
    const words = [
      `row ${row}`,
      what,
      status,
      ...(id === undefined ? [] : [`id ${id}`]),
      ...(error === undefined ? [] : [error]),
    ]
    return clean(words.join('  '))
  },
  about: ({ cells }) => cells,
  pending: () => '',
} satisfies Partial<BadgeKind>

/** The daemon has no check for these rows, so a dry run only shows them. */
const showRows =
  (done: string): BadgeKind['show'] =>
  async (ctx, rows) => {
    const shown = dryRunLines(ctx)
    for (const { row, cells } of rows) {
      const words = Object.entries(cells).map(([name, value]) => `${name} ${value}`)
      await shown.line({ row, ...cells, dryRun: true }, () => clean(`row ${row}  ${words.join('  ')}`))
    }
    shown.end()
    ctx.io.note(`Dry run: ${counted(rows.length, 'row')} would be ${done}. Nothing was sent.`)
    return exitCodes.done
  }

/** Relative to the sheet, or else to the working directory. */
const imagePath = (path: string, folder: string, cwd: string): string => {
  const beside = resolve(folder, path)
  return existsSync(beside) ? beside : resolve(cwd, path)
}

export const badgeCreation: BadgeKind = {
  ...badges,
  name: 'badge-events create',
  sheet: {
    columns: eventColumns,
    required: eventNeeds,
    structured: new Set(['virtualEvent', 'privateEvent']),
    files: new Set(['image']),
    parse: (ctx, problems, folder) => {
      const judge = imageJudge()
      const rowOf = new Map<string, number>()
      return {
        row: (row, values) => {
          const cells = named(eventColumns, values)
          const placed = cells.image
            ? { ...cells, image: imagePath(cells.image, folder, ctx.system.cwd) }
            : cells
          for (const { column, why } of eventProblems(placed, judge)) problems.add(row, column, why)
          const content = JSON.stringify(placed)
          const before = rowOf.get(content)
          if (before === undefined) rowOf.set(content, row)
          else problems.add(row, undefined, `is the same event as row ${before}`)
          return { row, cells: placed }
        },
      }
    },
  },
  show: showRows('created'),
  missingFiles: (rows) =>
    [...new Set(rows.flatMap(({ cells }) => cells.image ?? []))].filter((image) => !existsSync(image)),
  // The daemon knows an event by its content: a sheet that is sent again creates none twice.
  endpoint: 'POST /badge-events',
  send: async function* (client, rows, keyOf) {
    for (const { row, cells } of rows) {
      const upload = eventForm(cells)
      const request = { upload, idempotencyKey: keyOf(row), query: { once: true } }
      yield await client.call('POST /badge-events', request).then(
        ({ id, unchanged }): BadgeResult => ({ row, status: unchanged ? 'unchanged' : 'created', id }),
        (error: unknown) => ({ row, ...refused(error) }),
      )
    }
  },
  label: 'Creating',
  countedStatuses: ['created', 'unchanged', 'failed'],
  hint: () => 'See them: tapchip badge-events list',
  undo: {
    refusal: 'Creating badge events cannot be undone: an event cannot be deleted.',
    advice: () =>
      'So that an event gives no badges: tapchip badge-events reject ID. An event at POAP is withdrawn there.',
  },
  sheetOf: () => ({
    heading: eventColumns,
    cells: ({ cells }) => eventColumns.map((column) => cells[column] ?? ''),
  }),
}

const countReplaced = (outcomes: Iterable<Outcome>): number =>
  [...outcomes].filter(({ replaced }) => replaced).length

const assignmentColumns = ['uid', 'badgeEventId', 'startsAt', 'endsAt', 'title', 'description']

export const badgeAssignment: BadgeKind = {
  ...badges,
  name: 'badge-events assign',
  sheet: {
    columns: assignmentColumns,
    required: ['uid', 'badgeEventId'],
    parse: (_, problems) => {
      // A chip may have several events, but each only once.
      const uidsOf = new Map<string, UidColumn>()
      return {
        row: (row, values) => {
          const cells = named(assignmentColumns, values)
          const { badgeEventId = '' } = cells
          const uids = uidsOf.get(badgeEventId) ?? new UidColumn(problems)
          uidsOf.set(badgeEventId, uids)
          const uid = cells.uid ? uids.read(row, cells.uid) : undefined
          if (!cells.uid) problems.add(row, 'uid', 'is missing')
          if (badgeEventId === '') problems.add(row, 'badgeEventId', 'is missing')
          else if (!/^[1-9]\d{0,14}$/.test(badgeEventId))
            problems.add(row, 'badgeEventId', `"${badgeEventId}" must be the ID of a badge event`)
          for (const column of ['startsAt', 'endsAt']) {
            const text = cells[column]
            if (text && !isInstant(text))
              problems.add(row, column, `"${text}" must be a time in UTC, as 2026-12-31T18:00:00Z`)
          }
          return uid === undefined ? undefined : { row, cells: { ...cells, uid } }
        },
        finish: (accepted) => {
          for (const uids of uidsOf.values()) uids.finish(accepted)
        },
      }
    },
  },
  show: showRows('assigned'),
  endpoint: 'POST /badge-events/assign',
  send: async function* (client, rows) {
    for (const { row, cells } of rows) {
      const { uid = '', badgeEventId = '', ...rest } = cells
      const body = { ...rest, tagUID: uidOnWire(uid), poapEventId: Number(badgeEventId) }
      yield await client.call('POST /badge-events/assign', { body, query: { report: true } }).then(
        ({ unchanged, replaced }): BadgeResult => ({
          row,
          status: unchanged ? 'unchanged' : 'assigned',
          ...(replaced ? { replaced } : {}),
        }),
        (error: unknown) => ({ row, ...refused(error) }),
      )
    }
  },
  label: 'Assigning',
  countedStatuses: ['assigned', 'unchanged', 'failed'],
  next: (id, { changed }, outcomes) =>
    changed > countReplaced(outcomes) ? `Undo it: tapchip batch undo ${id}` : '',
  remark: (outcomes) => {
    const count = countReplaced(outcomes)
    return count === 0
      ? undefined
      : `${counted(count, 'chip')} had the event already, with another window or text, which an undo does not restore.`
  },
  hint: () => "See what a chip's next tap gives: tapchip refs show REF",
  undo: {
    name: assignmentUndo.name,
    question: (count) => `Remove ${counted(count, 'assignment')}?`,
    nothing: 'The batch assigned nothing that can be taken back.',
    row: ({ row, cells: { uid = '', badgeEventId } }, _, batch) => ({
      row,
      uid,
      badgeEventId: Number(badgeEventId),
      batch,
    }),
    as: assignmentUndo,
  },
  sheetOf: () => ({
    heading: assignmentColumns,
    cells: ({ cells }) =>
      assignmentColumns.map((column) => (column === 'uid' ? colons(cells.uid ?? '') : (cells[column] ?? ''))),
  }),
}
