import type { ChipsPage, Queries } from '../database/database.ts'
import type { ChipGroupRow } from '../schema/schema.ts'

/** Every condition that is present holds. Null: the chip has none. */
export interface ChipFilter {
  /** Several: any of them. */
  readonly label?: string | readonly string[] | null | undefined
  readonly item?: string | null | undefined
  readonly variant?: string | null | undefined
  readonly redirectUrl?: string | null | undefined
  /** EIP-55. */
  readonly contractAddress?: string | null | undefined
  readonly chainId?: number | null | undefined
  readonly tokenId?: string | null | undefined
  readonly keySet?: number | null | undefined
  readonly generation?: number | undefined
  readonly disabled?: boolean | undefined
  /** To a token. */
  readonly linked?: boolean | undefined
  /** Its last accepted tap was then or later. ISO 8601 in UTC. */
  readonly tappedSince?: string | undefined
}

const columns = {
  item: 'chips.itemId',
  variant: 'chips.variantId',
  redirectUrl: 'chips.redirectUrl',
  contractAddress: 'contracts.address',
  chainId: 'contracts.chainId',
  tokenId: 'tokens.tokenId',
  keySet: 'chips.keySetId',
  generation: 'chips.generation',
} as const

/** A page of a group, ordered by UID. */
export function chipsToExport(
  db: Queries,
  group: Pick<ChipGroupRow, 'id' | 'teamId' | 'name'>,
  { after, limit, ...filter }: ChipsPage & ChipFilter,
) {
  const { label, disabled, linked, tappedSince } = filter
  let chips = db
    .selectFrom('chips')
    .leftJoin('tokens', 'tokens.id', 'chips.tokenRow')
    .leftJoin('contracts', 'contracts.id', 'tokens.contractId')
    .select((eb) => [
      ...exported,
      'contracts.address as contractAddress',
      'contracts.chainId',
      'tokens.tokenId',
      eb.val(group.name).as('chipGroup'),
    ])
    .where('chips.chipGroupId', '=', group.id)
    .where('chips.uid', '>', after)
    .orderBy('chips.uid')
    .limit(limit)
  const isNull = (yes: boolean) => (yes ? 'is' : 'is not')
  for (const name of Object.keys(columns) as (keyof typeof columns)[]) {
    const value = filter[name]
    if (value !== undefined) chips = chips.where(columns[name], value === null ? 'is' : '=', value)
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

const exported = [
  'chips.uid',
  'chips.keySetId',
  'chips.label',
  'chips.redirectUrl',
  'chips.itemId',
  'chips.variantId',
  'chips.tokenRow',
  'chips.disabledAt',
  'chips.lastCounter',
  'chips.publicKey',
  'chips.generation',
  'chips.lastTapAt',
  'chips.createdAt',
] as const
