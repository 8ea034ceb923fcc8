import { showDryRun } from '../../batch/dry-run.ts'
import { startBatch } from '../../batch/engine.ts'
import { rateFlag } from '../../batch/input/flags.ts'
import { apply } from '../../batch/kinds/apply.ts'
import { countPlan } from '../../batch/kinds/apply-plan.ts'
import { type ApplyRow, describeApplied } from '../../batch/kinds/apply-row.ts'
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
export const someFlags = { ...selectionFlags, ...rateFlag, team, yes }
export const manyFlags = { ...groupFlag, ...someFlags }
type Given = Values<typeof someFlags> & { readonly chipGroup?: string | undefined }

export interface Chosen {
  readonly uids: readonly string[]
  /** In words: "chip group Jackets". */
  readonly described: string
  /** The one chip was named by its UID or its label. */
  readonly isNamed: boolean
  /** As it was named. */
  readonly handle: string
}

/** @returns undefined if the selection is empty, which is said. @throws UsageError */
export const chooseChips = async (
  ctx: CliContext,
  named: readonly string[],
  given: Given,
): Promise<Chosen | undefined> => {
  const conditions = readConditions(ctx, given)
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
  const uids = await chosenChips(ctx, conditions, given.team, ({ uid }) => uid)
  if (uids.length === 0) {
    ctx.io.note(noChips(described))
    return undefined
  }
  const isNamed = uids.length === 1 && given.label.length === 1 && Object.keys(conditions).length === 1
  return { uids, described, isNamed, handle: given.label[0] ?? '' }
}

/** Makes the chips so in a batch. One that was named ends like a single command. */
export const applyToChips = async (
  ctx: CliContext,
  { uids, described, isNamed }: Chosen,
  change: Pick<ApplyRow, 'values' | 'remove' | 'reason'>,
  about: {
    /** The command, in the journal. */
    readonly verb: string
    readonly given: Pick<Given, 'rate' | 'team' | 'yes'>
    readonly kind?: typeof apply
    readonly ask: (count: number) => Promise<void>
  },
): Promise<ExitCode> => {
  const { verb, given, kind = apply, ask } = about
  const rows = uids.map((uid, i): ApplyRow => ({ row: i + 1, uid, team: given.team, ...change }))
  const check = await kind.check?.(ctx, rows)
  if (ctx.flags.dryRun) return showDryRun(ctx, kind, rows, check)
  const counts = countPlan(check?.values() ?? [])
  if (!isNamed) sayWhatStays(ctx, uids.length, counts)
  const isAlone = isNamed && counts.changed === 0
  if (counts.changed + counts.removed > 0) await ask(counts.changed + counts.removed)
  else if (isAlone) return sayAlone(ctx, rows, check)
  const input = { name: `${verb}: ${described}`, path: null, sha256: null }
  const { exitCode, only: result } = await startBatch(ctx, kind, { input, rows, check, rate: given.rate })
  const [row] = rows
  if (isNamed && row && result && result.status !== 'failed' && !ctx.io.json)
    await ctx.io.line(result, () => withoutRow(describeApplied(result, row)))
  // A single chip cannot fail in part.
  return isNamed && exitCode === exitCodes.partial ? exitCodes.failed : exitCode
}

const someOf = (named: readonly string[]): string => {
  const more = named.length - 3
  return `${named.slice(0, 3).join(', ')}${more > 0 ? ` and ${formatNumber(more)} more` : ''}`
}

const sayWhatStays = (
  ctx: CliContext,
  chips: number,
  { unchanged, conflict, failed }: ReturnType<typeof countPlan>,
): void => {
  const words = [
    ...(unchanged > 0 ? [`${formatNumber(unchanged)} would stay as they are`] : []),
    ...(conflict + failed > 0 ? [`${formatNumber(conflict + failed)} would fail`] : []),
  ]
  if (words.length > 0) ctx.io.note(`Of ${counted(chips, 'chip')}, ${words.join(', and ')}.`)
}

const withoutRow = (text: string): string => text.replace(/^row 1 {2}/, '')

/** Nothing is left to do, or nothing can be done. */
const sayAlone = async (
  ctx: CliContext,
  [row]: readonly ApplyRow[],
  check: ReadonlyMap<number, Parameters<typeof describeApplied>[0]> | undefined,
): Promise<ExitCode> => {
  const result = check?.get(1)
  if (result === undefined || row === undefined) return exitCodes.failed
  if (result.error !== undefined && !ctx.io.json) throw new CliError(result.error)
  await ctx.io.line(result, () => withoutRow(describeApplied(result, row)))
  return result.status === 'unchanged' ? exitCodes.done : exitCodes.failed
}

/** For what is easily taken back: the number is confirmed by a person, and a script goes on. */
export const askPerson =
  (ctx: CliContext, given: { readonly yes: boolean }, question: (chips: string) => string) =>
  async (count: number): Promise<void> => {
    if (ctx.prompts.possible) await ctx.prompts.confirm(given.yes, question(counted(count, 'chip')))
  }
