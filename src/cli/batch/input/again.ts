import { dirname } from 'node:path'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { clean, counted } from '../../io/text.ts'
import type { Header, Row } from '../journal.ts'
import type { ResumeOptions, RowKind } from '../kind.ts'
import { sheetOptions } from './flags.ts'
import { Problems } from './problems.ts'
import { readSheet } from './sheet.ts'
import { openSource } from './source.ts'

const shownFiles = 3

/**
 * The rows that a resume sends. A journal names files and does not hold them: on another machine they are where the
 * sheet is, which is given again.
 * @throws UsageError if files are missing
 */
export const withFiles = async <R extends Row>(
  ctx: CliContext,
  kind: RowKind<R>,
  rows: readonly R[],
  { header, options }: { readonly header: Header; readonly options: ResumeOptions },
): Promise<readonly R[]> => {
  if (!kind.missingFiles || rows.length === 0) return rows
  const again = await readAgain(ctx, kind, { header, options })
  const placed = rows.map((row) => again.get(row.row) ?? row)
  const missing = kind.missingFiles(placed)
  if (missing.length === 0) return placed
  const more = missing.length > shownFiles ? ', …' : ''
  throw new UsageError(
    `${counted(missing.length, 'file', 'files')} that batch ${header.id} needs cannot be found here, and its journal does not hold them: ${clean(missing.slice(0, shownFiles).join(', '))}${more}`,
    `Bring them here with the sheet that names them, and continue: tapchip batch resume ${header.id} --file SHEET`,
  )
}

const readAgain = async <R extends Row>(
  ctx: CliContext,
  kind: RowKind<R>,
  { header, options }: { readonly header: Header; readonly options: ResumeOptions },
): Promise<ReadonlyMap<number, R>> => {
  const rows = new Map<number, R>()
  if (options.file === undefined) return rows
  const source = openSource(ctx.system, options.file)
  const problems = new Problems()
  const folder = source.path === undefined ? ctx.system.cwd : dirname(source.path)
  const reader = kind.sheet.parse(ctx, problems, folder)
  await readSheet(source, sheetOptions(options, kind.sheet), problems, {
    row: (at, cells) => {
      const row = reader.row(at, cells)
      if (row !== undefined) rows.set(at, row)
    },
  })
  if (header.input.sha256 !== null && source.sha256() !== header.input.sha256)
    throw new UsageError(
      `${source.name} is not the file that the batch started with.`,
      'Give the same sheet: its rows are counted.',
    )
  problems.refuse(source.name)
  return rows
}
