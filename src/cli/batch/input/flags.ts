import { choice, integer, repeated, text, textOrBare } from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import type { Header } from '../journal.ts'
import { inputFormats, type SheetOptions } from './sheet.ts'

/** The connections that the client opens to a daemon are a few more. */
const mostAtOnce = 16

export const sheetFlags = {
  file: text('-f, --file <file>', 'CSV, a JSON array or JSON lines; - for standard input', 'file'),
  format: choice(
    '--format <format>',
    'Format of the file, if its name and first character do not tell',
    inputFormats,
  ),
  map: repeated('--map <column=name>', "The sheet's name for a column, as in uid=TagID (repeatable)"),
  ignoreColumns: textOrBare('--ignore-columns [names]', 'Ignore unknown columns, or only those named (a,b)'),
}

export const rateFlag = {
  rate: integer('--rate <n>', 'Rows per second at most (default: no limit)', [1, 1_000_000]),
}

/** For kinds of batches whose rows may be sent in any order. */
export const concurrencyFlag = {
  concurrency: integer(
    '--concurrency <n>',
    'Requests under way at once (default: 1 to 3, by what is sent); results stay in the order of the rows',
    [1, mostAtOnce],
  ),
}

export const batchFlags = {
  ...sheetFlags,
  ...rateFlag,
  failed: text('--failed <file>', 'Write the failed rows to a CSV file that can be run again', 'file'),
}

export interface SheetFlags {
  readonly format: SheetOptions['format']
  readonly map: readonly string[]
  readonly ignoreColumns: string | true | undefined
}

export const sheetOptions = (
  flags: SheetFlags,
  {
    columns,
    required,
    anyOf,
    structured,
    alwaysIgnored = [],
  }: Omit<SheetOptions, 'format' | 'renamed' | 'ignored'> & { readonly alwaysIgnored?: readonly string[] },
): SheetOptions => {
  const renamed = new Map<string, string>()
  for (const pair of flags.map) {
    const cut = pair.indexOf('=')
    const [column, name] = [pair.slice(0, Math.max(0, cut)).trim(), pair.slice(cut + 1).trim()]
    if (cut < 1 || name === '')
      throw new UsageError(`--map takes COLUMN=NAME, as in uid=TagID, not "${pair}".`)
    if (!columns.includes(column))
      throw new UsageError(`--map: there is no column "${column}".`, `Available: ${columns.join(', ')}`)
    renamed.set(column, name)
  }
  const { format, ignoreColumns } = flags
  const ignored =
    ignoreColumns === true
      ? 'all'
      : new Set([...alwaysIgnored, ...(ignoreColumns ?? '').split(',').flatMap((name) => name.trim() || [])])
  return {
    columns,
    required,
    ...(anyOf ? { anyOf } : {}),
    ...(structured ? { structured } : {}),
    format,
    renamed,
    ignored,
  }
}

/** The flags as text, for the journal of a batch that reads its sheet again when it is resumed. */
export const asSettings = ({ format, map, ignoreColumns }: SheetFlags) => ({
  format,
  map: map.length === 0 ? undefined : map.join('\n'),
  ignoreColumns: ignoreColumns === true ? '*' : ignoreColumns,
})

/** The reverse of asSettings. @param given takes precedence */
export const fromSettings = (settings: NonNullable<Header['settings']>, given?: SheetFlags): SheetFlags => ({
  format: given?.format ?? inputFormats.find((known) => known === settings.format),
  map: given?.map.length ? given.map : (settings.map ?? '').split('\n').filter((pair) => pair !== ''),
  ignoreColumns: given?.ignoreColumns ?? (settings.ignoreColumns === '*' ? true : settings.ignoreColumns),
})
