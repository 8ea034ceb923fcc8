import { once } from 'node:events'
import { createWriteStream, renameSync, rmSync, statSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import { defineCommand } from '../../command/define.ts'
import { team, text } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { fileProblem, withFiles } from '../../file-problem.ts'
import { sheetLine } from '../../io/csv.ts'
import { counted, shellQuoted } from '../../io/text.ts'
import { colons } from '../../uid.ts'
import { groupFlag, readConditions, type SelectedChip, selectChips, selectionFlags } from './select.ts'

/** In an order that suits an import; chipGroup and keySet are flags there. */
const columns: Readonly<Record<string, (chip: SelectedChip) => string | number | null>> = {
  uid: (chip) => colons(chip.uid),
  chipGroup: (chip) => chip.chipGroup,
  keySet: (chip) => chip.keySet,
  label: (chip) => chip.label,
  redirectUrl: (chip) => chip.redirectUrl,
  item: (chip) => chip.item,
  variant: (chip) => chip.variant,
  contractAddress: (chip) => chip.contractAddress,
  chainId: (chip) => chip.chainId,
  tokenId: (chip) => chip.tokenId,
  disabled: (chip) => String(chip.disabled),
  lastCounter: (chip) => chip.lastCounter,
  publicKey: (chip) => chip.publicKey,
  revision: (chip) => chip.revision,
}

export const exportChips = defineCommand({
  name: 'export',
  summary: 'Write chips as CSV, or as JSON lines',
  description:
    'Write chips as CSV, with UIDs in hex, since a spreadsheet keeps 15 digits of the 16; with --json as JSON lines. ' +
    'A cell that a spreadsheet would run as a formula (it begins with = + - @) gets an apostrophe before it; reading ' +
    'such a file takes the apostrophe off again. To import an export: --ignore-columns chipGroup,keySet.',
  examples: [
    'chips export --chip-group Jackets --file jackets.csv',
    'chips export --where disabled=true --where tappedSince=30d',
    'chips export --json > chips.jsonl',
  ],
  options: {
    file: text('-f, --file <file>', 'The output file (default: standard output)', 'file'),
    ...groupFlag,
    ...selectionFlags,
    team,
  },
  run: async (ctx, { options }) => {
    ctx.needAdmin()
    const { file } = options
    const chips = selectChips(ctx, readConditions(ctx, options) ?? {}, options.team)
    const out = file === undefined || file === '-' ? undefined : openFile(ctx, file)
    const write = out?.write ?? ((text: string) => ctx.io.raw(text))
    // The heading is written with the first row, so that an error leaves no file with a heading only.
    const wanted = columnsOf(ctx)
    let count = 0
    try {
      for await (const chip of chips) {
        if (count === 0 && !ctx.io.json) await write(sheetLine(Object.keys(wanted)))
        count += 1
        await write(
          ctx.io.json
            ? `${JSON.stringify(ctx.io.picked(onlyColumns(chip)))}\n`
            : sheetLine(cellsOf(chip, wanted)),
        )
      }
      if (count === 0 && !ctx.io.json) await write(sheetLine(Object.keys(wanted)))
      await out?.end()
    } catch (error) {
      out?.discard()
      throw error
    }
    ctx.io.note(`${counted(count, 'chip')} written${file === undefined ? '' : ` to ${file}`}.`)
    if (out)
      ctx.io.hint(
        `Import it: tapchip chips import --file ${shellQuoted(file ?? '-')} --ignore-columns chipGroup,keySet --chip-group NAME --key-set ID`,
      )
  },
})

/** All columns, or those that --fields names, in that order. */
const columnsOf = (ctx: CliContext): typeof columns => {
  const { fields } = ctx.flags
  if (fields === undefined || ctx.io.json) return columns
  const chosen = fields.map((name) => {
    const read = Object.hasOwn(columns, name) ? columns[name] : undefined
    if (read) return [name, read] as const
    throw new UsageError(`--fields: there is no "${name}".`, `Available: ${Object.keys(columns).join(', ')}`)
  })
  return Object.fromEntries(chosen)
}

/** What a sheet has, so that JSON lines can be read as one. */
const onlyColumns = (chip: SelectedChip): Partial<SelectedChip> =>
  Object.fromEntries(Object.entries(chip).filter(([name]) => Object.hasOwn(columns, name)))

const cellsOf = (chip: SelectedChip, wanted: typeof columns): string[] =>
  Object.values(wanted).map((read) => {
    const cell = read(chip)
    return cell === null ? '' : String(cell)
  })

/** The file is either complete or unchanged: half an export would look like one with fewer chips. */
export const openFile = (ctx: CliContext, file: string) => {
  const path = file.startsWith('/') ? file : `${ctx.system.cwd}/${file}`
  const words = {
    path: file,
    verb: 'written',
    advice: 'Nothing was left behind. Write to another file.',
  } as const
  const isPlain = withFiles(words, () => statSync(path, { throwIfNoEntry: false })?.isFile() ?? true)
  // Pipes and devices cannot be renamed.
  const partial = isPlain ? `${path}.partial` : path
  let stream: ReturnType<typeof createWriteStream> | undefined
  let failure: Error | undefined
  const open = () => {
    stream ??= createWriteStream(partial).on('error', (error) => {
      failure = error
    })
    return stream
  }
  const unwritable = (error: unknown) => fileProblem(error, words) ?? error
  return {
    write: async (text: string): Promise<void> => {
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
    discard: (): void => {
      stream?.destroy()
      if (isPlain) rmSync(partial, { force: true })
    },
  }
}
