import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { isJsonObject } from '../../../values/json.ts'
import { exitCodes } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'
import { bothForms } from '../../uid.ts'
import { dryRunLines, refused } from '../answers.ts'
import type { Cell } from '../input/sheet.ts'
import { isNumber, isStatus, isText, orAbsent, type Result, type Row, shape } from '../journal.ts'
import type { RowKind } from '../kind.ts'
import { eventColumns, eventForm, eventNeeds, eventProblems, imageJudge } from './badge-form.ts'

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
