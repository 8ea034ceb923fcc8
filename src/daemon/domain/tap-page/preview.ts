import { findItem } from '../../store/chips/items.ts'
import type { Db } from '../../store/database/database.ts'
import type { TeamRow } from '../../store/schema/schema.ts'
import { type Brand, brandColumns, brandOf, type NewBrand } from '../access/brand.ts'
import { notFound } from '../errors/errors.ts'
import type { Piece } from './content.ts'
import { describePiece } from './piece.ts'

/** Stored parts of a preview, which replace those of the samples. */
export interface OwnContent {
  brand: Brand
  ownWords: string | null
  piece?: Piece
}

/** @param itemId of the team @param look tried in place of the team's @throws DomainError not_found, invalid_input */
export async function ownContent(
  { db }: { db: Pick<Db, 'read'> },
  team: TeamRow,
  itemId: string | undefined,
  look: NewBrand,
): Promise<OwnContent> {
  const own = { brand: brandOf({ ...team, ...brandColumns(team, look) }), ownWords: team.pageStrings }
  if (itemId === undefined) return own
  const item = await findItem(db.read, team.id, itemId)
  if (!item) throw notFound('item')
  const variantId = firstVariant(item.variants)
  const described = describePiece(null, { ...item, variantId })
  return { ...own, piece: { ...described, kind: 'item', token: undefined, owner: undefined } }
}

/** Lets a preview show the attributes of a variant. @param variants as stored */
function firstVariant(variants: string): string | null {
  const [first]: unknown[] = JSON.parse(variants)
  return typeof first === 'object' && first !== null && 'id' in first ? String(first.id) : null
}
