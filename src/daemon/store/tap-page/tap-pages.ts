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
  brand: Pick<TeamRow, 'brandName' | 'brandColor' | 'brandBackground' | 'brandLogoUrl' | 'pageStrings'>
  /** Of its page at /p, if the team has these. null: not made yet. */
  publicId: string | null | undefined
  /** When the chip was registered. */
  createdAt: string
  item: ItemOfPage | undefined
  future: FutureContract | undefined
  /** Set for a TagTamper chip once a tap reported it. */
  tamper: { is: 'closed' } | { is: 'open'; since: string } | undefined
  /** It has notes, badges, or guestbook entries. */
  hasStory: boolean
  /** There are or were reservations of it or of its token. */
  hasReservations: boolean
}

const pages = (db: Queries) =>
  db
    .selectFrom('chips')
    .innerJoin('teams', 'teams.id', 'chips.teamId')
    .leftJoin('items', (join) =>
      join.onRef('items.teamId', '=', 'chips.teamId').onRef('items.id', '=', 'chips.itemId'),
    )
    .leftJoin('contracts', 'contracts.id', 'items.contractId')
    .select([
      'teams.brandName',
      'teams.brandColor',
      'teams.brandBackground',
      'teams.brandLogoUrl',
      'teams.pageStrings',
    ])
    .select(['chips.variantId', 'items.name', 'items.description', 'items.imageUrl', 'items.media'])
    .select(['items.variants', 'contracts.name as contractName', 'contracts.chainId'])
    .select(['contracts.twoTapDelaySeconds', 'chips.tamper', 'chips.openedAt'])
    .select(['chips.publicId', 'chips.createdAt', 'teams.publicPages'])
    // Most chips have neither, and are then spared two queries that cost more than the rest of the page.
    .select((e) => {
      const has = (table: 'badgeClaims' | 'guestbookEntries' | 'chipNotes' | 'reservations') =>
        e.exists(e.selectFrom(table).select('chipUid').whereRef('chipUid', '=', 'chips.uid'))
      const ofToken = e
        .selectFrom('reservations')
        .select('tapId')
        .whereRef('reservations.tokenRow', '=', 'chips.tokenRow')
      return [
        e.or([has('chipNotes'), has('badgeClaims'), has('guestbookEntries')]).as('hasStory'),
        e.or([has('reservations'), e.exists(ofToken)]).as('hasReservations'),
      ]
    })
const ofChip = statement<{ uid: string }>()((db, p) => pages(db).where('chips.uid', '=', p.uid))
type PageRow = NonNullable<Awaited<ReturnType<typeof ofChip.first>>>

/** A tap page's chip without its token and events, in one query, because every tap needs it. */
export async function pageOfChip(db: Queries, uid: string): Promise<PageOfChip | undefined> {
  const row = await ofChip.first(db, { uid })
  return row && pageOf(row)
}

function pageOf(row: PageRow): PageOfChip {
  const { brandName, brandColor, brandBackground, brandLogoUrl, pageStrings, chainId, twoTapDelaySeconds } =
    row
  const { variantId, name, description, imageUrl, media, variants, contractName, tamper, openedAt } = row
  return {
    brand: { brandName, brandColor, brandBackground, brandLogoUrl, pageStrings },
    publicId: row.publicPages === 1 ? row.publicId : undefined,
    createdAt: row.createdAt,
    item:
      name === null || description === null || imageUrl === null || media === null || variants === null
        ? undefined
        : { variantId, name, description, imageUrl, media, variants, contractName },
    future: chainId === null ? undefined : { chainId, twoTapDelaySeconds },
    tamper:
      openedAt !== null ? { is: 'open', since: openedAt } : tamper === null ? undefined : { is: 'closed' },
    hasStory: Boolean(row.hasStory),
    hasReservations: Boolean(row.hasReservations),
  }
}

const byPublicId = statement<{ publicId: string }>()((db, p) =>
  pages(db)
    .select(['chips.uid', 'chips.tokenRow'])
    .where('chips.publicId', '=', p.publicId)
    .where('chips.disabledAt', 'is', null)
    .where('teams.publicPages', '=', 1),
)

export interface PublicPageOfChip extends PageOfChip {
  uid: string
  tokenRow: number | null
}

/** undefined too if the chip is disabled, or its team has no such pages. */
export async function publicPageOfChip(db: Queries, publicId: string): Promise<PublicPageOfChip | undefined> {
  const row = await byPublicId.first(db, { publicId })
  if (!row) return undefined
  const { uid, tokenRow } = row
  return { ...pageOf(row), uid, tokenRow }
}

/** undefined if the chip has no such page. null: its ID is not made yet. */
export const publicIdOf = async (db: Queries, uid: string): Promise<string | null | undefined> =>
  (await publicIds.first(db, { uid }))?.publicId

const publicIds = statement<{ uid: string }>()((db, p) =>
  db
    .selectFrom('chips')
    .innerJoin('teams', 'teams.id', 'chips.teamId')
    .select('chips.publicId')
    .where('chips.uid', '=', p.uid)
    .where('chips.disabledAt', 'is', null)
    .where('teams.publicPages', '=', 1),
)

const setId = statement<{ uid: string; publicId: string }>()((db, p) =>
  db
    .updateTable('chips')
    .set({ publicId: p.publicId })
    .where('uid', '=', p.uid)
    .where('publicId', 'is', null),
)
/** @returns false if it has one */
export const setPublicId = (db: Queries, uid: string, publicId: string): Promise<boolean> =>
  setId.runOnce(db, { uid, publicId })
