import { nanoid } from 'nanoid'
import type { Explorers } from '../../chain/explorers.ts'
import type { Db } from '../../store/database/database.ts'
import { findToken } from '../../store/phygitals/tokens.ts'
import { publicIdOf, publicPageOfChip, setPublicId } from '../../store/tap-page/tap-pages.ts'
import { type Brand, brandOf } from '../access/brand.ts'
import { notFound } from '../errors/errors.ts'
import type { Piece, TapPage } from './content.ts'
import { type OwnerDeps, ownerOnPage } from './owner.ts'
import { describePiece, tokenOnPage } from './piece.ts'
import { heldSince, readStory, type StoryEntry, storyEntries } from './story.ts'

/** For everyone who has the address of a chip's page: without the UID, and without anything that can be done. */
export interface PublicPage {
  path: string
  brand: Brand
  /** See TapPage. */
  ownWords: string | null
  piece: Piece
  tamper: TapPage['tamper']
  /** Day on which the owner got it, YYYY-MM-DD (UTC); undefined: not known here. */
  heldSince: string | undefined
  story: StoryEntry[]
  /** The chain has answered, or has nothing to say. */
  isFinal: boolean
}

const pathOf = (publicId: string): string => `/p/${publicId}`

/**
 * The path of a chip's public page, below the base URL. Its random ID is made once, when it is first needed.
 * @returns undefined if its team has no public pages, or the chip is disabled or unknown
 */
export async function publicPageOf({ db }: { db: Db }, uid: string): Promise<string | undefined> {
  return publicPath({ db }, uid, await publicIdOf(db.read, uid))
}

/** The same for a chip that was read already. @param publicId see publicIdOf */
export async function publicPath(
  { db }: { db: Pick<Db, 'write'> },
  uid: string,
  publicId: string | null | undefined,
): Promise<string | undefined> {
  if (publicId !== null) return publicId === undefined ? undefined : pathOf(publicId)
  const made = nanoid()
  const known = await db.write(async (trx) =>
    (await setPublicId(trx, uid, made)) ? made : publicIdOf(trx, uid),
  )
  return known == null ? undefined : pathOf(known)
}

// Longer than on a tap page, since nothing on this page asks again.
const ownerPatienceMs = 1500

/** @throws DomainError not_found */
export async function readPublicPage(
  deps: OwnerDeps & { db: Pick<Db, 'read'>; explorers: Explorers },
  publicId: string,
): Promise<PublicPage> {
  const page = await publicPageOfChip(deps.db.read, publicId)
  if (!page) throw notFound('page')
  const { tokenRow, item, tamper } = page
  const token = tokenRow === null ? undefined : await findToken(deps.db.read, tokenRow)
  const reading =
    token && ownerOnPage(deps, token, { since: undefined, isFollowed: false, patienceMs: ownerPatienceMs })
  const [known, rows] = await Promise.all([
    reading?.quick,
    token || page.hasStory ? readStory(deps, page.uid, token) : [],
  ])
  return {
    path: pathOf(publicId),
    brand: brandOf(page.brand),
    ownWords: page.brand.pageStrings,
    piece: {
      ...describePiece(token?.metadata ?? null, item),
      kind: token ? 'token' : item ? 'item' : 'chip',
      token: token && tokenOnPage(token, deps),
      owner: known?.owner,
    },
    tamper,
    heldSince: heldSince(rows, known?.owner?.address),
    story: storyEntries(rows, page),
    isFinal: known?.isFinal ?? true,
  }
}
