import { isBatchName } from '../../../values/batch.ts'
import { readZonedTime } from '../../../values/zoned-time.ts'
import {
  choice,
  flag,
  integer,
  type OptionSpec,
  repeated,
  text,
  textOrBare,
  type Values,
} from '../../command/options.ts'
import { UsageError } from '../../errors.ts'
import { inputFormats, type SheetOptions } from './sheet.ts'

export const sheetFlags = {
  file: text('-f, --file <file>', 'CSV, a JSON array or JSON lines; - for standard input', 'file'),
  format: choice(
    '--format <format>',
    'Format of the file (default: by its name or first character)',
    inputFormats,
  ),
  map: repeated('--map <column=name>', "The sheet's name for a column, as in uid=TagID (repeatable)"),
  ignoreColumns: textOrBare('--ignore-columns [names]', 'Ignore unknown columns, or only those named (a,b)'),
}

export const rateFlag = {
  rate: integer('--rate <n>', 'Rows per second at most (default: no limit)', [1, 1_000_000]),
}

/** Scripts give it to commands whose rows they once sent themselves. */
export const formerConcurrencyFlag = {
  concurrency: integer('--concurrency <n>', 'No longer has an effect: the daemon runs the rows', [1, 16]),
}

export const batchFlags = {
  ...sheetFlags,
  ...rateFlag,
  failed: text('--failed <file>', 'Write the failed rows to a CSV file that can be run again', 'file'),
}

const time = (flags: string, description: string): OptionSpec<string | undefined> => ({
  flags,
  description: `${description}: 2026-11-27T18:00+01:00 or "2026-11-27T18:00 Europe/Rome"`,
  read: (raw) => {
    if (typeof raw !== 'string') return undefined
    const read = readZonedTime(raw)
    if ('time' in read) return read.time
    throw new UsageError(`${/--[a-z]+/.exec(flags)?.[0]} "${raw}" ${read.problem}.`)
  },
})

const name: OptionSpec<string | undefined> = {
  flags: '--name <name>',
  description: 'A name for the batch. The same name with the same rows continues that batch',
  read: (raw) => {
    if (typeof raw !== 'string') return undefined
    if (isBatchName(raw)) return raw
    throw new UsageError(
      `--name must be 1 to 64 letters, digits, dots, hyphens or underscores, and not only a dot or two, not "${raw}".`,
    )
  },
}

/** For batches that the daemon runs. */
export const runFlags = {
  ...rateFlag,
  detach: flag('--detach', 'Return once the batch has started, and print its id, name and state'),
  name,
  at: time('--at <time>', 'Start then'),
  until: time('--until <time>', 'Undo it then, where nobody has changed the value since'),
  propose: flag('--propose', 'Wait until somebody else approves it: batch approve'),
  note: text('--note <text>', 'A note to store with the batch'),
}
export type RunFlags = Values<typeof runFlags>

const batchFlag = (flags: RunFlags): string | undefined =>
  (['detach', 'name', 'at', 'until', 'propose', 'note'] as const).find(
    (flag) => flags[flag] !== undefined && flags[flag] !== false,
  )

/** True if a single named chip should still be a batch. */
export const wantsBatch = (flags: RunFlags): boolean => batchFlag(flags) !== undefined

/** @throws UsageError for flags of batches with a single thing, which is done at once */
export const refuseRunFlags = (flags: RunFlags): void => {
  const flag = batchFlag(flags)
  if (flag !== undefined)
    throw new UsageError(`--${flag} is for batches.`, 'A batch takes a sheet (--file), or selects chips.')
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

/** The flags as text, for a box that reads its sheet again when it is resumed. */
export const asSettings = ({ format, map, ignoreColumns }: SheetFlags) => ({
  format,
  map: map.length === 0 ? undefined : map.join('\n'),
  ignoreColumns: ignoreColumns === true ? '*' : ignoreColumns,
})

/** The reverse of asSettings. */
export const fromSettings = (settings: Readonly<Record<string, string | undefined>>): SheetFlags => ({
  format: inputFormats.find((known) => known === settings.format),
  map: (settings.map ?? '').split('\n').filter((pair) => pair !== ''),
  ignoreColumns: settings.ignoreColumns === '*' ? true : settings.ignoreColumns,
})
