import { runFlags } from '../../batch/input/flags.ts'
import { type ApplyRow, chipSelections, describeApplied } from '../../batch/kinds/chips-apply.ts'
import { changedIn } from '../../batch/plan.ts'
import { runRows } from '../../batch/run-sheet.ts'
import type { RowResult, Totals } from '../../batch/sheet-kind.ts'
import { type ArgumentSpec, team, type Values, yes } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, type ExitCode, exitCodes, UsageError } from '../../errors.ts'
import { counted, formatNumber } from '../../io/text.ts'
import { chipUid } from '../chip-handle.ts'
import {
  chosenChips,
  describeConditions,
  groupFlag,
  noChips,
  readConditions,
  selectionFlags,
} from './select.ts'

export const chipArguments: { readonly chips: ArgumentSpec<readonly string[]> } = {
  chips: {
    written: '[chips...]',
    description: 'The chips: their UIDs in decimal or hex, or their labels',
    read: (raw) => (Array.isArray(raw) ? raw.map(String) : []),
  },
}
/** Without --chip-group, which says where chips are moved. */
export const someFlags = { ...selectionFlags, ...runFlags, team, yes }
export const manyFlags = { ...groupFlag, ...someFlags }
type ManyOptions = Values<typeof someFlags> & { readonly chipGroup?: string | undefined }

interface ChosenChips {
  readonly uids: readonly string[]
  /** In words: "chip group Jackets". */
  readonly described: string
  /** The one chip was named by its UID or its label. */
  readonly isNamed: boolean
  /** The text that named it. */
  readonly handle: string
}

/** @returns undefined if the selection is empty, after saying so. @throws UsageError */
export const chooseChips = async (
  ctx: CliContext,
  named: readonly string[],
  options: ManyOptions,
): Promise<ChosenChips | undefined> => {
  const conditions = readConditions(ctx, options)
  if (conditions !== undefined && named.length > 0)
    throw new UsageError('Name the chips, or select them by flags: not both.')
  if (conditions === undefined) {
    if (named.length === 0)
      throw new UsageError(
        'Specify which chips: their UIDs or labels, or --where and the like.',
        'To choose all of a team: --where followed by what they have in common.',
      )
    const uids = new Set<string>()
    for (const text of named) uids.add(await chipUid(ctx, text))
    const [handle = ''] = named
    return { uids: [...uids], described: someOf(named), isNamed: uids.size === 1, handle }
  }
  const described = describeConditions(conditions)
  const uids = await chosenChips(ctx, conditions, options.team, ({ uid }) => uid)
  if (uids.length === 0) {
    ctx.io.note(noChips(described))
    return undefined
  }
  const isNamed = uids.length === 1 && options.label.length === 1 && Object.keys(conditions).length === 1
  return { uids, described, isNamed, handle: options.label[0] ?? '' }
}

/** Makes the chips so in a batch. One that was named ends like a single command. */
export const applyToChips = async (
  ctx: CliContext,
  { uids, isNamed }: ChosenChips,
  change: Pick<ApplyRow, 'cells' | 'remove'>,
  about: {
    readonly verb: keyof typeof chipSelections
    readonly options: Pick<ManyOptions, keyof typeof runFlags | 'team' | 'yes'>
    readonly settings?: Readonly<Record<string, unknown>>
    /** @param chips "5 chips" @param does the grave part of the plan, in words */
    question?(chips: string, does: string): string
    ask?(totals: Totals): Promise<void>
  },
): Promise<ExitCode> => {
  const { verb, options, settings, question, ask } = about
  const messages = chipSelections[verb]
  const kind = {
    ...messages,
    ...(isNamed && { beforeRun: () => undefined }),
    ...(question && {
      question: (totals: Totals, does: string) => question(counted(changedIn(totals), 'chip'), does),
    }),
  }
  const rows = uids.map((uid, i): ApplyRow => ({ row: i + 1, uid, ...change }))
  let planned: RowResult | undefined
  const { exitCode, only, plan } = await runRows(ctx, kind, rows, {
    ...{ flags: options, team: options.team, settings },
    ...(ask && { ask }),
    ...(isNamed && {
      isIdleSkipped: true,
      onPlanned: (result: RowResult) => {
        planned = result
      },
    }),
  })
  if (!isNamed || ctx.flags.dryRun) return exitCode
  if (plan && changedIn(plan.totals) === 0 && planned) return printSingle(ctx, planned)
  if (only && only.status !== 'failed' && !ctx.io.json)
    await ctx.io.line(only, () => withoutRow(describeApplied(only)))
  // A single chip cannot fail in part.
  return exitCode === exitCodes.partial ? exitCodes.failed : exitCode
}

const someOf = (named: readonly string[]): string => {
  const more = named.length - 3
  return `${named.slice(0, 3).join(', ')}${more > 0 ? ` and ${formatNumber(more)} more` : ''}`
}

const withoutRow = (text: string): string => text.replace(/^row 1 {2}/, '')

/** Nothing is left to do, or nothing can be done. */
const printSingle = async (ctx: CliContext, result: RowResult): Promise<ExitCode> => {
  if (result.error !== undefined && !ctx.io.json) throw new CliError(result.error)
  await ctx.io.line(result, () => withoutRow(describeApplied(result)))
  return result.status === 'unchanged' ? exitCodes.done : exitCodes.failed
}
