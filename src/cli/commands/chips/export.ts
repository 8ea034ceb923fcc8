import { once } from 'node:events'
import { createWriteStream, renameSync, rmSync, statSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { exportedColumns } from '../../../values/chip-columns.ts'
import { partialOf } from '../../../values/files.ts'
import { defineCommand } from '../../command/define.ts'
import { choice, flag, team, text, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { fileProblem, withFiles } from '../../file-problem.ts'
import { type Delimiter, sheetLine } from '../../io/lists.ts'
import { counted, jsonLine, shellQuoted } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { groupFlag, readConditions, type SelectedChip, selectChips, selectionFlags } from './select.ts'

const columns = ['uid', ...exportedColumns, 'revision'] as const
type Column = (typeof columns)[number]

const isColumn = (name: string): name is Column => columns.some((column) => column === name)

const delimiters: Readonly<Record<string, Delimiter>> = { ';': ';', tab: '\t' }

export const exportChips = defineCommand({
  name: 'export',
  summary: 'Write chips as CSV, or as JSON lines',
  description:
    'Write chips as CSV, with UIDs in hex, since a spreadsheet keeps 15 digits of the 16; with --json as JSON lines. ' +
    'A cell that a spreadsheet would run as a formula (it begins with = + - @, also fullwidth) gets an apostrophe before it; reading ' +
    'such a file removes the apostrophe. chips apply accepts the sheet, and sees by the column revision what ' +
    'was changed since. To import an export: --ignore-columns chipGroup,keySet. For Excel: --bom, and where it ' +
    "separates by semicolons, --delimiter ';'.",
  examples: [
    'chips export --chip-group Jackets --file jackets.csv',
    'chips export --where disabled=true --where tappedSince=30d',
    "chips export --file jackets.csv --bom --delimiter ';'",
    'chips export --json > chips.jsonl',
  ],
  options: {
    file: text('-f, --file <file>', 'The output file (default: standard output)', 'file'),
    ...groupFlag,
    ...selectionFlags,
    bom: flag('--bom', 'Start with a byte order mark, so that Excel reads the CSV as UTF-8'),
    delimiter: choice(
      '--delimiter <character>',
      'What stands between cells (default: ,)',
      Object.keys(delimiters),
    ),
    team,
    yes,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const { file, bom } = options
    if ((bom || options.delimiter !== undefined) && ctx.io.json)
      throw new UsageError('--bom and --delimiter are for CSV: leave them out, or leave out --json.')
    const delimiter = delimiters[options.delimiter ?? '']
    const lineOf = (cells: readonly string[]) => sheetLine(cells, delimiter)
    const headingOf = (names: readonly string[]) => (bom ? '\uFEFF' : '') + lineOf(names)
    const chips = selectChips(ctx, readConditions(ctx, options) ?? {}, options.team)
    const out = file === undefined || file === '-' ? undefined : openFile(ctx, file)
    if (out?.isThere) await ctx.prompts.confirm(options.yes, `${file} exists. Overwrite it?`)
    const write = out?.write ?? ((text: string) => ctx.io.raw(text))
    // The heading is written with the first row, so that an error leaves no file with a heading only.
    const chosen = columnsOf(ctx)
    const heading = headingOf(chosen)
    let count = 0
    try {
      for await (const chip of chips) {
        if (count === 0 && !ctx.io.json) await write(heading)
        count += 1
        await write(ctx.io.json ? jsonLine(ctx.io.picked(onlyColumns(chip))) : lineOf(cellsOf(chip, chosen)))
      }
      if (count === 0 && !ctx.io.json) await write(heading)
      await out?.end()
    } catch (error) {
      await out?.discard()
      throw error
    }
    ctx.io.note(`${counted(count, 'chip')} written${file === undefined ? '' : ` to ${file}`}.`)
    if (out) {
      const name = shellQuoted(file ?? '-')
      ctx.io.hint(`Change it, and apply it: tapchip chips apply --file ${name} --dry-run`)
      ctx.io.hint(
        `Register its chips elsewhere: tapchip chips import --file ${name} --ignore-columns chipGroup,keySet --chip-group NAME --key-set ID`,
      )
    }
  },
})

/** All columns, or those that --fields names, in that order. */
const columnsOf = (ctx: CliContext): readonly Column[] => {
  const { fields } = ctx.flags
  if (fields === undefined || ctx.io.json) return columns
  return fields.map((name) => {
    if (isColumn(name)) return name
    throw new UsageError(`--fields: there is no "${name}".`, `Available: ${columns.join(', ')}`)
  })
}

/** The columns of a sheet, so that JSON lines can be imported like one. */
const onlyColumns = (chip: SelectedChip): Partial<SelectedChip> =>
  Object.fromEntries(Object.entries(chip).filter(([name]) => isColumn(name)))

const cellsOf = (chip: SelectedChip, chosen: readonly Column[]): string[] =>
  chosen.map((column) => (column === 'uid' ? colons(chip.uid) : String(chip[column] ?? '')))

/** The file is either complete or unchanged: half an export would look like one with fewer chips. */
export const openFile = (ctx: CliContext, file: string) => {
  const path = file.startsWith('/') ? file : `${ctx.system.cwd}/${file}`
  const messages = {
    path: file,
    verb: 'written',
    advice: 'Nothing was left behind. Write to another file.',
  } as const
  const stats = withFiles(messages, () => statSync(path, { throwIfNoEntry: false }))
  const isPlain = stats?.isFile() ?? true
  // Pipes and devices cannot be renamed.
  const partial = isPlain ? partialOf(path) : path
  let stream: ReturnType<typeof createWriteStream> | undefined
  let failure: Error | undefined
  const open = () => {
    stream ??= createWriteStream(partial, isPlain ? { flags: 'wx' } : {}).on('error', (error) => {
      failure = error
    })
    return stream
  }
  const unwritable = (error: unknown) => fileProblem(error, messages) ?? error
  return {
    isThere: stats?.isFile() ?? false,
    write: async (text: string | Uint8Array): Promise<void> => {
      if (failure) throw unwritable(failure)
      if (!open().write(text))
        await once(open(), 'drain').catch((error: unknown) => {
          throw unwritable(error)
        })
    },
    end: async (): Promise<void> => {
      open().end()
      await finished(open()).catch((error: unknown) => {
        throw unwritable(failure ?? error)
      })
      if (isPlain) renameSync(partial, path)
    },
    discard: async (): Promise<void> => {
      // The file may be about to be made.
      if (stream && !stream.closed) await once(stream.destroy(), 'close')
      if (isPlain) rmSync(partial, { force: true })
    },
  }
}
