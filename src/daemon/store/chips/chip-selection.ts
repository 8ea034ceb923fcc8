import { type ChipValue, chipColumns, exportedColumns } from '../../../values/chip-columns.ts'
import type { ChipsPage, Queries } from '../database/database.ts'
import type { ChipGroupRow } from '../schema/schema.ts'

const compared = [
  ...(['item', 'variant', 'redirectUrl', 'contractAddress', 'chainId', 'tokenId'] as const),
  ...(['keySet', 'generation'] as const),
] as const

/** All given conditions must hold. Null: the chip has none. */
export type ChipFilter = {
  /** Addresses are EIP-55. */
  readonly [column in (typeof compared)[number]]?: ChipValue<column> | null | undefined
} & {
  /** If several: any of them. */
  readonly label?: string | readonly string[] | null | undefined
  readonly disabled?: boolean | undefined
  /** Linked to a token. */
  readonly linked?: boolean | undefined
  /** The last accepted tap was at or after this time. ISO 8601 in UTC. */
  readonly tappedSince?: string | undefined
}

type Group = Pick<ChipGroupRow, 'id' | 'teamId' | 'name'>

/** A page of a group, ordered by UID. */
export const chipsToExport = (
  db: Queries,
  group: Group,
  { after, limit, ...filter }: ChipsPage & ChipFilter,
) =>
  chipsOf(db, group, filter)
    .select((eb) => [
      ...exportedColumns.map((column) =>
        (column === 'chipGroup' ? eb.val(group.name) : eb.ref(chipColumns[column].stored)).as(column),
      ),
      ...(['uid', 'itemId', 'tokenRow', 'generation', 'lastTapAt', 'createdAt'] as const).map(
        (column) => `chips.${column}` as const,
      ),
    ])
    .where('chips.uid', '>', after)
    .orderBy('chips.uid')
    .limit(limit)

/** All of a group for which every condition holds. */
export function chipsOf(db: Queries, group: Omit<Group, 'name'>, filter: ChipFilter) {
  const { label, disabled, linked, tappedSince } = filter
  let chips = db
    .selectFrom('chips')
    .leftJoin('tokens', 'tokens.id', 'chips.tokenRow')
    .leftJoin('contracts', 'contracts.id', 'tokens.contractId')
    .where('chips.chipGroupId', '=', group.id)
  const isNull = (yes: boolean) => (yes ? 'is' : 'is not')
  for (const name of compared) {
    const value = filter[name]
    if (value !== undefined) chips = chips.where(chipColumns[name].stored, value === null ? 'is' : '=', value)
  }
  if (label !== undefined)
    chips =
      label === null
        ? chips.where('chips.label', 'is', null)
        : chips.where('chips.label', 'in', [label].flat())
  // Indexes on labels and items begin with the team.
  if (label != null || filter.item != null) chips = chips.where('chips.teamId', '=', group.teamId)
  if (disabled !== undefined) chips = chips.where('chips.disabledAt', isNull(!disabled), null)
  if (linked !== undefined) chips = chips.where('chips.tokenRow', isNull(!linked), null)
  if (tappedSince !== undefined) chips = chips.where('chips.lastTapAt', '>=', tappedSince)
  return chips
}
