import { choice, repeated, text, textOrBare } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { inputFormats, type SheetOptions } from './sheet.ts'

/** What every command that reads a sheet takes. */
export const sheetFlags = {
  file: text('-f, --file <file>', 'CSV, a JSON array or JSON lines; - for standard input', 'file'),
  format: choice(
    '--format <format>',
    'What the file is, where its name and its first character do not tell',
    inputFormats,
  ),
  map: repeated(
    '--map <column=name>',
    "Read a column under the sheet's own name, as in uid=TagID (repeatable)",
  ),
  ignoreColumns: textOrBare(
    '--ignore-columns [names]',
    'Pass over columns that are unknown, or only those named (a,b)',
  ),
}

/** The flags as the sheet reader takes them. */
export const sheetOptions = (
  flags: {
    readonly format: SheetOptions['format']
    readonly map: readonly string[]
    readonly ignoreColumns: string | true | undefined
  },
  columns: readonly string[],
  needed: Pick<SheetOptions, 'required' | 'anyOf'>,
): SheetOptions => {
  const renamed = new Map<string, string>()
  for (const pair of flags.map) {
    const cut = pair.indexOf('=')
    const [column, name] = [pair.slice(0, Math.max(0, cut)).trim(), pair.slice(cut + 1).trim()]
    if (cut < 1 || name === '')
      throw new UsageError(`--map takes COLUMN=NAME, as in uid=TagID, not "${pair}".`)
    if (!columns.includes(column))
      throw new UsageError(`--map: there is no column "${column}".`, `There are: ${columns.join(', ')}`)
    renamed.set(column, name)
  }
  const { ignoreColumns } = flags
  const ignored =
    ignoreColumns === true
      ? 'all'
      : new Set((ignoreColumns ?? '').split(',').flatMap((name) => name.trim() || []))
  return { ...needed, format: flags.format, columns, renamed, ignored }
}
