import type { Db } from '../../store/database/database.ts'
import { findToken } from '../../store/phygitals/tokens.ts'
import { pageOfChip } from '../../store/tap-page/tap-pages.ts'
import { type Brand, brandOf } from '../access/brand.ts'
import { type TapQuery, type VerifyTapDeps, verifyTap } from '../taps/verify-tap.ts'
import { describePiece, type PieceDescription } from './piece.ts'
import { publicPath } from './public-page.ts'

/** Shown of a shared link's piece before anybody opens it. */
export interface LinkPreview {
  brand: Brand
  ownWords: string | null
  /** Path of the chip's public page. */
  path: string | undefined
  piece: Pick<PieceDescription, 'name' | 'collection' | 'description' | 'image'>
}

/**
 * For crawlers: takes nothing, and records no tap. A link that was used before has the same preview.
 * @returns undefined if the chip did not make this link, or is disabled
 */
export async function previewLink(
  deps: VerifyTapDeps & { db: Db },
  query: TapQuery,
): Promise<LinkPreview | undefined> {
  const verified = await verifyTap(deps, query)
  if (verified.kind !== 'genuine' || verified.chip.disabledAt !== null) return undefined
  const { uid, tokenRow } = verified.chip
  const [page, token] = await Promise.all([
    pageOfChip(deps.db.read, uid),
    tokenRow === null ? undefined : findToken(deps.db.read, tokenRow),
  ])
  if (!page) return undefined
  const path = await publicPath(deps, uid, page.publicId)
  return {
    ...{ brand: brandOf(page.brand), ownWords: page.brand.pageStrings, path },
    piece: describePiece(token?.metadata ?? null, page.item),
  }
}
