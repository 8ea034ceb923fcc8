import { whyNotCell } from '../../../values/chip-columns.ts'
import { batchFlags, formerConcurrencyFlag, runFlags } from '../../batch/input/flags.ts'
import { chipsEdit, describeEdit } from '../../batch/kinds/chips-edit.ts'
import { runRows, runSheet } from '../../batch/run-sheet.ts'
import { defineCommand } from '../../command/define.ts'
import { flag, text, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { counted, shellQuoted } from '../../io/text.ts'
import { chipUid } from '../chip-handle.ts'
import {
  type Conditions,
  describeConditions,
  groupFlag,
  noChips,
  readConditions,
  selectedChips,
  selectionFlags,
} from './select.ts'

const flags = {
  uid: text('--uid <uid>', 'One chip: its UID in decimal or hex, or its label'),
  ...groupFlag,
  ...selectionFlags,
  redirectUrl: text('--redirect-url <url>', 'The URL that their taps open'),
  clear: flag('--clear', 'Clear the URL, so that taps show the tap page'),
  ...batchFlags,
  ...runFlags,
  ...formerConcurrencyFlag,
  yes,
}
type EditOptions = Values<typeof flags>

export const edit = defineCommand({
  name: 'edit',
  summary: 'Set or clear the redirect URL of chips',
  description:
    'Set or clear the redirect URL of chips: of one, of a whole group, or of those that --label and --where select, by flags; of ' +
    'many from a file with the columns uid and redirectUrl (empty: cleared). The whole file is checked before the first ' +
    'row is written.',
  examples: [
    'chips edit --uid 04:DE:5F:1E:AC:C0:40 --redirect-url https://example.com/',
    'chips edit --chip-group Jackets --redirect-url https://example.com/',
    'chips edit --where item=jacket --where redirectUrl= --redirect-url https://example.com/',
    'chips edit --file edits.csv --dry-run',
    'chips edit --file edits.csv --failed again.csv',
    'chips edit --file sheet.csv --map uid=TagID --map redirectUrl=Link --ignore-columns',
  ],
  excess: (options) =>
    `For one chip: --uid ${shellQuoted(options)}. For many: --chip-group, --where or --file.`,
  options: flags,
  run: async (ctx, { options }) => {
    ctx.needApiKey()
    const { uid, chipGroup, redirectUrl, clear } = options
    if (options.file === undefined) return editByFlags(ctx, options)
    const isSelected = options.label.length + options.where.length > 0
    if ((uid ?? chipGroup ?? redirectUrl) !== undefined || clear || isSelected) {
      throw new UsageError('--file already says which chips and where: leave out the flags that also say it.')
    }
    return runSheet(ctx, chipsEdit, options.file, options)
  },
})

const editByFlags = async (ctx: CliContext, options: EditOptions): Promise<ExitCode> => {
  const { uid } = options
  const conditions = readConditions(ctx, options)
  if (uid === undefined && conditions === undefined && !ctx.prompts.possible) {
    throw new UsageError('Specify which chips: --file, --uid, --chip-group, --label or --where.')
  }
  if (uid !== undefined && conditions !== undefined)
    throw new UsageError('Use --uid or --chip-group, --label and --where, not both.')
  if (options.clear && options.redirectUrl !== undefined)
    throw new UsageError('Use --redirect-url or --clear, not both.')
  if (conditions !== undefined) return editMany(ctx, conditions, options)
  return editOne(
    ctx,
    await chipUid(ctx, await ctx.prompts.text(uid, { flag: '--uid', message: 'UID of the chip' }), '--uid'),
    options,
  )
}

const redirectFrom = async (ctx: CliContext, options: EditOptions): Promise<string | null> => {
  if (options.clear) return null
  const missing = { flag: '--redirect-url or --clear', message: 'Redirect URL' }
  const url = await ctx.prompts.text(options.redirectUrl, missing)
  const why = whyNotCell('redirectUrl', url)
  if (why !== undefined) throw new UsageError(`--redirect-url "${url}" ${why}. Nothing was written.`)
  return url || null
}

const editMany = async (ctx: CliContext, conditions: Conditions, options: EditOptions): Promise<ExitCode> => {
  const redirectUrl = await redirectFrom(ctx, options)
  const name = describeConditions(conditions)
  const chips = await selectedChips(ctx, conditions, options.chipGroup)
  if (chips.length === 0) {
    await ctx.confirmContext()
    ctx.io.note(noChips(name))
    return exitCodes.done
  }
  const rows = chips.map(({ uid }, i) => ({ row: i + 1, uid, redirectUrl }))
  const ask = (): Promise<void> =>
    ctx.prompts.confirm(options.yes, `Edit ${counted(chips.length, 'chip')} (${name})?`)
  return (await runRows(ctx, chipsEdit, rows, { flags: options, ask })).exitCode
}

const editOne = async (ctx: CliContext, uid: string, options: EditOptions): Promise<ExitCode> => {
  const redirectUrl = await redirectFrom(ctx, options)
  const { exitCode, only } = await runRows(ctx, chipsEdit, [{ row: 1, uid, redirectUrl }], {
    flags: options,
    ask: async () => undefined,
  })
  if (only && only.status !== 'failed' && !ctx.io.json)
    await ctx.io.line(only, () => describeEdit({ ...only, redirectUrl }).replace(/^row 1 {2}/, ''))
  // A single chip cannot fail in part.
  return exitCode === exitCodes.partial ? exitCodes.failed : exitCode
}
