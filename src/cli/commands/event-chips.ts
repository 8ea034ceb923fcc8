import { batchFlags, runFlags } from '../batch/input/flags.ts'
import { runRows } from '../batch/run-sheet.ts'
import type { SheetKind, SheetRow } from '../batch/sheet-kind.ts'
import { text, type Values, yes } from '../command/options.ts'
import type { CliContext } from '../context.ts'
import { type ExitCode, exitCodes, UsageError } from '../errors.ts'
import { counted } from '../io/text.ts'
import { chipUid } from './chip-handle.ts'
import {
  describeConditions,
  groupFlag,
  noChips,
  readConditions,
  selectedChips,
  selectionFlags,
} from './chips/select.ts'

/** The chips that an event is assigned to, or removed from. */
export const eventChipFlags = {
  uid: text('--uid <uid>', 'One chip: its UID in decimal or hex, or its label'),
  ...groupFlag,
  ...selectionFlags,
  ...batchFlags,
  ...runFlags,
  yes,
}
export type EventChips = Values<typeof eventChipFlags>

const ways = '--uid, --label, --chip-group, --where or --file'

/** Refuses a sheet beside flags that name chips as well, and neither. @throws UsageError */
export const assertOneWay = ({ uid, file, ...options }: EventChips): void => {
  const isSelected = options.chipGroup !== undefined || options.label.length > 0 || options.where.length > 0
  const count = [uid !== undefined, file !== undefined, isSelected].filter(Boolean).length
  if (count === 0) throw new UsageError(`Specify which chips: ${ways}.`)
  if (count > 1) throw new UsageError(`Specify which chips in one way: ${ways}.`)
}

/** Runs a batch over chips that flags name or select. @param rowOf a row for a chip, by its UID */
export const runEventChips = async <R extends SheetRow>(
  ctx: CliContext,
  kind: SheetKind<R>,
  options: EventChips,
  { rowOf, question }: { rowOf(uid: string, row: number): R; question(chips: string): string },
): Promise<ExitCode> => {
  const conditions = readConditions(ctx, options)
  if (conditions === undefined) {
    const uid = await chipUid(ctx, options.uid ?? '', '--uid')
    const { exitCode, only } = await runRows(ctx, kind, [rowOf(uid, 1)], { flags: options })
    if (only && only.status !== 'failed' && !ctx.io.json)
      await ctx.io.line(only, () => kind.describe(only).replace(/^row 1 {2}/, ''))
    // A single chip cannot fail in part.
    return exitCode === exitCodes.partial ? exitCodes.failed : exitCode
  }
  const described = describeConditions(conditions)
  const chips = await selectedChips(ctx, conditions, options.chipGroup)
  if (chips.length === 0) {
    await ctx.confirmContext()
    ctx.io.note(noChips(described))
    return exitCodes.done
  }
  const rows = chips.map(({ uid }, i) => rowOf(uid, i + 1))
  const prompt = question(`${counted(chips.length, 'chip')} (${described})`)
  const messages = { ...kind, question: () => prompt }
  return (await runRows(ctx, messages, rows, { flags: options })).exitCode
}
