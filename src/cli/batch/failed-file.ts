import { accessSync, constants, existsSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { CliContext } from '../context.ts'
import { exitCodes, UsageError } from '../errors.ts'
import { withFiles } from '../file-problem.ts'
import { sheetLine } from '../io/csv.ts'
import { shellQuoted } from '../io/text.ts'

const pathOf = (ctx: CliContext, file: string) => (file.startsWith('/') ? file : `${ctx.system.cwd}/${file}`)

/** Checked before the first row is sent. @throws UsageError if the file cannot be written */
export const checkFailedFile = (ctx: CliContext, file: string | undefined): void => {
  if (file === undefined) return
  const path = pathOf(ctx, file)
  const words = { path: `--failed ${shellQuoted(file)}`, verb: 'written', exitCode: exitCodes.usage } as const
  withFiles(words, () => {
    const there = statSync(path, { throwIfNoEntry: false })
    if (there?.isDirectory())
      throw new UsageError(`--failed ${shellQuoted(file)} is a directory.`, 'Give a file.')
    accessSync(there ? path : dirname(path), constants.W_OK)
  })
}

/**
 * Writes the failed rows as a sheet that can be run again. If no row failed, an older sheet is cut to its heading. The
 * file may hold keys, so only its owner can read it.
 */
export const writeFailedRows = (
  ctx: CliContext,
  file: string,
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): void => {
  const path = pathOf(ctx, file)
  if (rows.length === 0 && !existsSync(path)) return
  const advice = 'See the failed rows: tapchip batch report ID --failed'
  withFiles({ path: file, verb: 'written', advice }, () =>
    writeFileSync(path, [heading, ...rows].map(sheetLine).join(''), { mode: 0o600 }),
  )
  if (rows.length === 0) ctx.io.note(`No row failed: ${shellQuoted(file)} now has only the heading.`)
  else ctx.io.note(`The failed rows were saved. Fix them and run them again: --file ${shellQuoted(file)}`)
}
