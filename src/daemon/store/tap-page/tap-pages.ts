import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import type { TeamRow } from '../schema/schema.ts'

/** The item of a chip, with the contract that mints its tokens. */
export interface ItemOfPage {
  variantId: string | null
  name: string
  description: string
  imageUrl: string
  /** JSON: see ItemsTable. */
  media: string
  variants: string
  contractName: string | null
}

/** The contract of an item that is not minted yet; undefined: nothing can be minted. */
export interface FutureContract {
  chainId: number
  twoTapDelaySeconds: number | null
}

export interface PageOfChip {
  brand: Pick<TeamRow, 'brandName' | 'brandColor' | 'brandBackground' | 'brandLogoUrl'>
  item: ItemOfPage | undefined
  future: FutureContract | undefined
  /** Set for a TagTamper chip once a tap reported it. */
  tamper: { is: 'closed' } | { is: 'open'; since: string } | undefined
}

const ofChip = statement<{ uid: string }>()((db, p) =>
  db
    .selectFrom('chips')
    .innerJoin('teams', 'teams.id', 'chips.teamId')
    .leftJoin('items', (join) =>
      join.onRef('items.teamId', '=', 'chips.teamId').onRef('items.id', '=', 'chips.itemId'),
    )
    .leftJoin('contracts', 'contracts.id', 'items.contractId')
    .select(['teams.brandName', 'teams.brandColor', 'teams.brandBackground', 'teams.brandLogoUrl'])
    .select(['chips.variantId', 'items.name', 'items.description', 'items.imageUrl', 'items.media'])
    .select(['items.variants', 'contracts.name as contractName', 'contracts.chainId'])
    .select(['contracts.twoTapDelaySeconds', 'chips.tamper', 'chips.openedAt'])
    .where('chips.uid', '=', p.uid),
)

/** A tap page's chip without its token and events, in one query, because every tap needs it. */
export async function pageOfChip(db: Queries, uid: string): Promise<PageOfChip | undefined> {
  const row = await ofChip.first(db, { uid })
  if (!row) return undefined
  const { brandName, brandColor, brandBackground, brandLogoUrl, chainId, twoTapDelaySeconds } = row
  const { variantId, name, description, imageUrl, media, variants, contractName, tamper, openedAt } = row
  return {
    brand: { brandName, brandColor, brandBackground, brandLogoUrl },
    item:
      name === null || description === null || imageUrl === null || media === null || variants === null
        ? undefined
        : { variantId, name, description, imageUrl, media, variants, contractName },
    future: chainId === null ? undefined : { chainId, twoTapDelaySeconds },
    tamper:
      openedAt !== null ? { is: 'open', since: openedAt } : tamper === null ? undefined : { is: 'closed' },
  }
}
