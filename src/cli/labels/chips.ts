import { uidOnWire } from '../../nfc/uid.ts'
import { chipsDone } from '../batch/boxes.ts'
import { ApiError } from '../client/errors.ts'
import { findBatch } from '../commands/batch/find.ts'
import { type SelectedChip, selectChips } from '../commands/chips/select.ts'
import type { CliContext } from '../context.ts'
import { UsageError } from '../errors.ts'
import { formatNumber } from '../io/text.ts'
import { readBox } from '../nfc/saved-box.ts'

/** A chip as its label shows it. */
export interface Label {
  /** In decimal. */
  readonly uid: string
  readonly label: string | null
  /** The name of its item, with what its variant is. */
  readonly item: string | null
}

/** More than any printer takes at once. */
const maxLabels = 100_000

/** Natural order: Coat 2 before Coat 10. */
const natural = new Intl.Collator('en', { numeric: true })

/**
 * The chips of a group in the order of their labels, then those without a label.
 * @throws UsageError if they are too many
 */
export const labelsOfGroup = async (
  ctx: CliContext,
  chipGroup: string,
  team: string | undefined,
): Promise<readonly Label[]> => {
  const nameOf = await itemNames(ctx, team)
  const labelled: (Label & { readonly label: string })[] = []
  const others: Label[] = []
  for await (const chip of selectChips(ctx, { chipGroup }, team)) {
    const { label, ...rest } = labelOf(chip, nameOf)
    if (label === null) others.push({ ...rest, label })
    else labelled.push({ ...rest, label })
    if (labelled.length + others.length > maxLabels)
      throw new UsageError(
        `The group has more than ${formatNumber(maxLabels)} chips, and one PDF takes no more labels.`,
        'Print those of one batch: tapchip labels print --batch ID',
      )
  }
  return [...labelled.sort((a, b) => natural.compare(a.label, b.label)), ...others]
}

/** Up to this many chips are looked up one by one; more are searched in a list of all chips. */
const fewChips = 50

/**
 * The chips of a batch in the order of its rows, without duplicates: those that succeeded and are still registered.
 * @returns `missing`: how many chips of the batch are not registered any more
 * @throws UsageError if there is no such batch, or it is not about chips
 */
export const labelsOfBatch = async (
  ctx: CliContext,
  id: string,
  team: string | undefined,
): Promise<{ readonly labels: readonly Label[]; readonly missing: number }> => {
  const { kind, uids, settings } = (await chipsOfBox(ctx, id)) ?? (await chipsOfBatch(ctx, id))
  if (uids === undefined)
    throw new UsageError(
      `Batch ${id} (${kind}) names no chips.`,
      'List the batches: tapchip batch list. To print a whole group: --chip-group NAME',
    )
  const open = new Set(uids)
  const found = new Map<string, Label>()
  const { chipGroup, team: ofBatch } = settings
  const teamId = team ?? ofBatch
  const nameOf = await itemNames(ctx, teamId)
  const findMatching = async (conditions: { chipGroup?: string }) => {
    for await (const chip of selectChips(ctx, conditions, teamId))
      if (open.delete(chip.uid)) found.set(chip.uid, labelOf(chip, nameOf))
  }
  // Chips are where the batch put them, as a rule; the group may be gone, and they may be in another.
  if (chipGroup !== undefined && open.size > fewChips) await findMatching({ chipGroup }).catch(ignoreNotFound)
  if (open.size > fewChips) await findMatching({})
  for (const uid of open) {
    const chip = await ctx
      .call('GET /admin/chips/:uid', { params: { uid: uidOnWire(uid) } })
      .catch(ignoreNotFound)
    if (chip)
      found.set(
        uid,
        labelOf({ ...chip, item: chip.item?.id ?? null, variant: chip.item?.variant ?? null }, nameOf),
      )
  }
  const labels = uids.flatMap((uid) => found.get(uid) ?? [])
  return { labels, missing: uids.length - labels.length }
}

const ignoreNotFound = (error: unknown): undefined => {
  if (!(error instanceof ApiError) || error.statusCode !== 404) throw error
  return undefined
}

interface ChipsOfBatch {
  readonly kind: string
  /** undefined if no row is about a chip. */
  readonly uids: readonly string[] | undefined
  readonly settings: { readonly chipGroup?: string | undefined; readonly team?: string | undefined }
}

const chipsOfBox = async (ctx: CliContext, id: string): Promise<ChipsOfBatch | undefined> => {
  const box = readBox(ctx.system, id)
  return box && { kind: 'nfc provision', uids: await chipsDone(ctx, box), settings: box.header.settings }
}

/** The chips of a batch on the daemon. */
const chipsOfBatch = async (ctx: CliContext, id: string): Promise<ChipsOfBatch> => {
  const { api, batch } = await findBatch(ctx, id)
  const outcomes: { uid: string; row: number; isDone: boolean }[] = []
  for await (const { row, uid, status } of api.report(batch.id, false))
    if (typeof uid === 'string')
      outcomes.push({
        uid,
        row,
        isDone: status !== undefined && status !== 'failed' && status !== 'conflict',
      })
  const { chipGroup } = batch.settings
  const settings = { team: batch.team, ...(typeof chipGroup === 'string' ? { chipGroup } : {}) }
  if (outcomes.length === 0 && batch.done > 0) return { kind: batch.kind, uids: undefined, settings }
  const done = outcomes.filter(({ isDone }) => isDone).sort((a, b) => a.row - b.row)
  return { kind: batch.kind, uids: [...new Set(done.map(({ uid }) => uid))], settings }
}

type ItemName = (item: string, variant: string | null) => string

const labelOf = (
  { uid, label, item, variant }: Pick<SelectedChip, 'uid' | 'label' | 'item' | 'variant'>,
  nameOf: ItemName,
): Label => ({ uid, label, item: item === null ? null : nameOf(item, variant) })

const itemNames = async (ctx: CliContext, team: string | undefined): Promise<ItemName> => {
  const items = new Map(
    (await ctx.call('GET /admin/items', { query: { team } })).map((item) => [item.id, item]),
  )
  return (id, variant) => {
    const item = items.get(id)
    const values =
      item?.variants.find((one) => one.id === variant)?.attributes.map(({ value }) => value) ?? []
    return [item?.name || id, values.join(', ') || variant].filter(Boolean).join(', ')
  }
}
