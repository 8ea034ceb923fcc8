import { withoutRef } from '../../../values/redirect-url.ts'
import { findTeam } from '../../store/access/teams.ts'
import { linksOfTeam } from '../../store/chips/links.ts'
import type { Db } from '../../store/database/database.ts'
import { maxLinks } from '../../store/taps/recorded-taps.ts'
import { brandOf } from '../access/brand.ts'
import type { TapPage } from './content.ts'
import { publicPageOf } from './public-page.ts'

/** A team's look and links, without refs, and the path of the chip's public page. */
export type TeamLook = Pick<TapPage, 'brand' | 'links' | 'publicPage' | 'ownWords'>

export interface RefusedChip {
  uid: string
  teamId: number
}

/** For pages that refuse a tap which a chip of the team did make. */
export async function teamLook(
  { db, wire }: { db: Db; wire: { refParameter: string } },
  { uid, teamId }: RefusedChip,
): Promise<TeamLook | undefined> {
  const [team, links, publicPage] = await Promise.all([
    findTeam(db.read, teamId),
    linksOfTeam(db.read, teamId),
    publicPageOf({ db }, uid),
  ])
  if (!team) return undefined
  return {
    brand: brandOf(team),
    ownWords: team.pageStrings,
    publicPage,
    links: links.slice(0, maxLinks).map(({ label, baseUrl }) => ({
      label,
      url: withoutRef(baseUrl, wire.refParameter),
    })),
  }
}
