import { selectableColumns, valueOfCell, whyNotCell } from '../../../values/chip-columns.ts'
import { tuneGarbageCollection } from '../../batch/run-sheet.ts'
import type { AnswerOf } from '../../client/types.ts'
import { readTime, repeated, text, type Values } from '../../command/options.ts'
import type { CliContext } from '../../context.ts'
import { CliError, UsageError } from '../../errors.ts'
import { chipsOf } from '../chip-groups.ts'

export type SelectedChip = AnswerOf<'GET /admin/chips/export'>
/** Query parameters; an empty value selects chips without one. */
export type Conditions = Readonly<Record<string, string | readonly string[] | undefined>>

const columns = [...selectableColumns, 'linked', 'tappedSince'] as const
type Column = (typeof columns)[number]

/** Query parameters for the daemon; an empty value selects chips without one. @throws UsageError */
const readValue = (column: Column, value: string, now: Date): string => {
  const where = `--where ${column}`
  if (column === 'tappedSince') return readTime(where, value, 'ago')(now)
  const known = column === 'linked' ? 'disabled' : column
  const isEmptyFlag = value === '' && known === 'disabled'
  const why = isEmptyFlag ? 'must be true or false' : whyNotCell(known, value)
  if (why !== undefined) throw new UsageError(`${where} ${value === '' ? '' : `"${value}" `}${why}.`)
  return String(valueOfCell(known, value) ?? '')
}

export const selectionFlags = {
  label: repeated('--label <label>', 'The chip with this label (repeatable)'),
  where: repeated(
    '--where <column=value>',
    `Only chips for which this holds, as in disabled=true (repeatable; all must hold). Columns: ${columns.join(', ')}`,
    columns.map((column) => `${column}=`),
  ),
}
export const groupFlag = {
  chipGroup: text('--chip-group <name|id>', 'The chips of this group', 'chip-group'),
}

/** @returns undefined if nothing is selected: all chips. @throws UsageError */
export const readConditions = (
  ctx: CliContext,
  { label, where, chipGroup }: Values<typeof selectionFlags> & { readonly chipGroup?: string | undefined },
): Conditions | undefined => {
  const conditions: Record<string, string | readonly string[]> = {}
  if (label.includes('')) throw new UsageError('--label is empty.', 'Chips without a label: --where label=')
  if (label.length > 0) conditions.label = label
  if (chipGroup !== undefined) conditions.chipGroup = chipGroup
  for (const condition of where) {
    const at = condition.indexOf('=')
    const named = condition.slice(0, at < 0 ? undefined : at).trim()
    const column = columns.find((one) => one === named)
    if (column === undefined)
      throw new UsageError(`--where: there is no column "${named}".`, `The columns: ${columns.join(', ')}`)
    if (at < 0)
      throw new UsageError(
        `--where ${column} has no value.`,
        `Write it as --where '${column}=…', with nothing after the = for chips that have none.`,
      )
    if (conditions[column] !== undefined)
      throw new UsageError(`${column} is given twice.`, 'All conditions must hold, so one of each is enough.')
    conditions[column] = readValue(column, condition.slice(at + 1).trim(), ctx.now())
  }
  return Object.keys(conditions).length === 0 ? undefined : conditions
}

/** In the order of groups and UIDs. */
export async function* selectChips(
  ctx: CliContext,
  conditions: Conditions,
  team: string | undefined,
): AsyncGenerator<SelectedChip> {
  ctx.needAdmin()
  const client = await ctx.client()
  yield* client.stream('GET /admin/chips/export', { query: { ...conditions, team } })
}

/** All of them, with what is needed of each. @throws CliError if a label is no chip's and nothing else is asked for */
export const chosenChips = async <T>(
  ctx: CliContext,
  conditions: Conditions,
  team: string | undefined,
  keep: (chip: SelectedChip) => T,
): Promise<readonly T[]> => {
  const chosen: T[] = []
  const { label, ...rest } = conditions
  const missing = new Set(label === undefined || Object.keys(rest).length > 0 ? [] : [label].flat())
  missing.delete('')
  for await (const chip of selectChips(ctx, conditions, team)) {
    chosen.push(keep(chip))
    missing.delete(chip.label ?? '')
  }
  tuneGarbageCollection(chosen.length)
  if (missing.size === 0) return chosen
  throw new CliError(
    `No chip has the label ${[...missing].map((one) => `"${one}"`).join(', ')}. Nothing was written.`,
    { advice: 'List the chips with their labels: tapchip chips list' },
  )
}

/** With only an API key, a whole group can be selected. */
export const selectedChips = (
  ctx: CliContext,
  conditions: Conditions,
  chipGroup: string | undefined,
): Promise<readonly { readonly uid: string }[]> =>
  chipGroup !== undefined && Object.keys(conditions).length === 1
    ? chipsOf(ctx, chipGroup)
    : chosenChips(ctx, conditions, undefined, ({ uid }) => ({ uid }))

/** In words, for a question and as the name of a batch's input. */
export const describeConditions = (conditions: Conditions): string =>
  Object.entries(conditions)
    .map(([column, value]) => {
      if (column === 'chipGroup') return `chip group ${String(value)}`
      if (column === 'label' && value !== '') return `label ${[value ?? []].flat().join(', ')}`
      return `${column}=${String(value)}`
    })
    .join(', ')

export const noChips = (described: string): string => `There are no chips with ${described}. Nothing to do.`
