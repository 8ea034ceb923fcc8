import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { clean, counted, formatNumber } from '../../io/text.ts'
import type { Cell } from '../input/sheet.ts'
import { changedIn } from '../plan.ts'
import type { BatchFile, RowResult, SheetKind, SheetRow } from '../sheet-kind.ts'
import { eventColumns, eventNeeds, eventProblems, imageJudge, sameBytesOf } from './badge-form.ts'

interface EventRow extends SheetRow {
  /** By column. The image is an absolute path. */
  readonly cells: Readonly<Record<string, string>>
  /** SHA-256 of the image, in hex. */
  readonly image: string
}

const named = (values: readonly Cell[]): Record<string, string> =>
  Object.fromEntries(
    eventColumns.flatMap((column, i) => {
      const value = values[i]?.trim()
      return value ? [[column, value]] : []
    }),
  )

/** Relative to the sheet, or else to the working directory. */
const imagePath = (path: string, folder: string, cwd: string): string => {
  const inFolder = resolve(folder, path)
  return existsSync(inFolder) ? inFolder : resolve(cwd, path)
}

const describe = ({ row, name, status, id, error }: RowResult): string =>
  clean(
    [
      `row ${row}`,
      ...(name === undefined ? [] : [`"${name}"`]),
      status ?? 'pending',
      ...(id === undefined ? [] : [`id ${id}`]),
      ...(error === undefined ? [] : [error]),
    ].join('  '),
  )

export const badgeEventCreation: SheetKind<EventRow> = {
  name: 'badge-events create',
  sheet: {
    columns: eventColumns,
    required: eventNeeds,
    structured: new Set(['virtualEvent', 'privateEvent']),
    files: new Set(['image']),
    parse: (ctx, problems, folder) => {
      const imageAt = imageJudge()
      const rowOf = new Map<string, number>()
      const files = new Map<string, BatchFile>()
      return {
        row: (row, values) => {
          const cells = named(values)
          if (cells.image) cells.image = imagePath(cells.image, folder, ctx.system.cwd)
          for (const { column, why } of eventProblems(cells, imageAt)) problems.add(row, column, why)
          const content = JSON.stringify(cells)
          const before = rowOf.get(content)
          if (before === undefined) rowOf.set(content, row)
          else problems.add(row, undefined, `is the same event as row ${before}`)
          const path = cells.image ?? ''
          const image = path === '' ? undefined : imageAt(path)
          if (image === undefined || 'reason' in image) return undefined
          const { hash, type } = image
          files.set(hash, { hash, type, read: () => sameBytesOf(path, hash) })
          return { row, cells, image: hash }
        },
        files: () => [...files.values()],
      }
    },
  },
  line: ({ cells, image }) => ({ ...cells, image }),
  label: 'Creating',
  changed: (count) => `${formatNumber(count)} created`,
  describe,
  // Scripts read these lines of a run; whoever reads a plan or a report wants the name as well.
  shown: ({ name, ...result }, where) => (where === 'run' ? result : { name, ...result }),
  isFinal: true,
  question: (totals) => `Create ${counted(changedIn(totals), 'badge event')}? This cannot be undone.`,
  hint: () => 'See them: tapchip badge-events list',
  sheetOf: () => ({
    heading: eventColumns,
    cells: ({ cells }) => eventColumns.map((column) => cells[column] ?? ''),
  }),
}
