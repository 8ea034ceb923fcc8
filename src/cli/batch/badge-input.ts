import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { CliContext } from '../context.ts'
import { eventColumns, eventNeeds, eventProblems } from './badge-form.ts'
import type { BadgeRow } from './badge-records.ts'
import { Problems } from './input/problems.ts'
import { readSheet, type SheetOptions } from './input/sheet.ts'
import { openSource, type Source } from './input/source.ts'
import { UidColumn } from './input/uid-column.ts'
import type { Header } from './records.ts'

export interface BadgeInput {
  readonly input: Header['input']
  readonly rows: readonly BadgeRow[]
}

export const creationColumns: readonly string[] = eventColumns
export const creationNeeds = { required: [...eventNeeds] as readonly string[] }
export const assignmentColumns: readonly string[] = [
  'uid',
  'badgeEventId',
  'startsAt',
  'endsAt',
  'title',
  'description',
]
export const assignmentNeeds = { required: ['uid', 'badgeEventId'] as readonly string[] }

const inputOf = (source: Source): Header['input'] => ({
  name: source.name,
  path: source.path ?? null,
  sha256: source.sha256(),
})

/** Reads a whole sheet of events. @throws UsageError that names every row that does not fit */
export const readEvents = async (
  ctx: CliContext,
  file: string,
  options: SheetOptions,
): Promise<BadgeInput> => {
  const source = openSource(ctx.at, file)
  const problems = new Problems()
  const rows: BadgeRow[] = []
  const folder = source.path === undefined ? ctx.at.cwd : dirname(source.path)
  const flags = new Set(['virtualEvent', 'privateEvent'])
  await readSheet(source, { ...options, structured: flags }, problems, {
    row: (row, values) => {
      const cells = named(creationColumns, values)
      const placed = cells.image ? { ...cells, image: imagePath(cells.image, folder, ctx.at.cwd) } : cells
      for (const { column, why } of eventProblems(placed)) problems.add(row, column, why)
      rows.push({ row, cells: placed })
    },
  })
  problems.refuse(source.name)
  return { input: inputOf(source), rows }
}

/** Beside the sheet, or else where the command runs. */
const imagePath = (path: string, folder: string, cwd: string): string => {
  const beside = resolve(folder, path)
  return existsSync(beside) ? beside : resolve(cwd, path)
}

/** Reads a whole sheet of assignments. @throws UsageError that names every row that does not fit */
export const readAssignments = async (
  ctx: CliContext,
  file: string,
  options: SheetOptions,
  accepted: boolean,
): Promise<BadgeInput> => {
  const source = openSource(ctx.at, file)
  const problems = new Problems()
  // A chip may carry several events, and each once.
  const uidsOf = new Map<string, UidColumn>()
  const rows: BadgeRow[] = []
  await readSheet(source, options, problems, {
    row: (row, values) => {
      const cells = named(assignmentColumns, values)
      const uids = uidsOf.get(cells.badgeEventId ?? '') ?? new UidColumn(problems)
      uidsOf.set(cells.badgeEventId ?? '', uids)
      const uid = cells.uid ? uids.read(row, cells.uid) : undefined
      if (!cells.uid) problems.add(row, 'uid', 'is missing')
      const why = !cells.badgeEventId
        ? 'is missing'
        : /^[1-9]\d{0,14}$/.test(cells.badgeEventId)
          ? undefined
          : `"${cells.badgeEventId}" must be the id of a badge event`
      if (why !== undefined) problems.add(row, 'badgeEventId', why)
      for (const column of ['startsAt', 'endsAt']) {
        const text = cells[column]
        if (text && !isInstant(text))
          problems.add(row, column, `"${text}" must be a time in UTC, as 2026-12-31T18:00:00Z`)
      }
      if (uid !== undefined) rows.push({ row, cells: { ...cells, uid } })
    },
  })
  for (const uids of uidsOf.values()) uids.finish(accepted)
  problems.refuse(source.name)
  return { input: inputOf(source), rows }
}

export const isInstant = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().startsWith(text.slice(0, 19))

/** The cells that hold something, by their columns. */
const named = (
  columns: readonly string[],
  values: readonly (string | null | undefined)[],
): Record<string, string> =>
  Object.fromEntries(
    columns.flatMap((column, i) => {
      const value = values[i]?.trim()
      return value ? [[column, value]] : []
    }),
  )
