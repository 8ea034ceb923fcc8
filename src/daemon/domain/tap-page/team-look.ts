import { withoutRef } from '../../../values/redirect-url.ts'
import { findTeam } from '../../store/access/teams.ts'
import { linksOfTeam } from '../../store/chips/links.ts'
import type { Db } from '../../store/database/database.ts'
import { maxLinks } from '../../store/taps/recorded-taps.ts'
import { brandOf } from '../access/brand.ts'
import type { TapPage } from './content.ts'

/** A team's look and links, without refs. */
export type TeamLook = Pick<TapPage, 'brand' | 'links'>

/** For pages that refuse a tap which a chip of the team did make. */
export async function teamLook(
  { db, wire }: { db: Pick<Db, 'read'>; wire: { refParameter: string } },
  teamId: number,
): Promise<TeamLook | undefined> {
  const [team, links] = await Promise.all([findTeam(db.read, teamId), linksOfTeam(db.read, teamId)])
  if (!team) return undefined
  return {
    brand: brandOf(team),
    links: links.slice(0, maxLinks).map(({ label, baseUrl }) => ({
      label,
      url: withoutRef(baseUrl, wire.refParameter),
    })),
  }
}
