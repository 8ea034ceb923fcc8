import { checkRedirectUrl } from '../../../values/redirect-url.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { deleteLink, findLink, findLinkLabelled, insertLink, linksOfTeam } from '../../store/chips/links.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { LinkRow } from '../../store/schema/schema.ts'
import { maxLinks } from '../../store/taps/recorded-taps.ts'
import { assertTeamIn } from '../access/teams.ts'
import { conflict, DomainError, invalid, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

export type { LinkRow }

type Deps = { db: Db; clock: Clock }

export const listLinks = ({ db }: { db: Pick<Db, 'read'> }, teamId: number): Promise<LinkRow[]> =>
  linksOfTeam(db.read, teamId)

/** For use in a larger transaction. @throws DomainError invalid_input, already_exists, conflict */
export async function createLinkIn(
  trx: Queries,
  link: { teamId: number; label: string; baseUrl: string; createdAt: string },
): Promise<LinkRow> {
  const reason = checkLinkUrl(link.baseUrl)
  if (reason) throw invalid('baseUrl', reason)
  if (await findLinkLabelled(trx, link.teamId, link.label)) {
    throw new DomainError(
      'already_exists',
      `The team already has a link labeled "${link.label}". Choose another label.`,
    )
  }
  if ((await linksOfTeam(trx, link.teamId)).length >= maxLinks)
    throw conflict(
      `The team has ${maxLinks} links already, and a page has room for no more. Remove one first.`,
    )
  return insertLink(trx, link)
}

/** @throws DomainError invalid_input, already_exists, conflict */
export function createLink(
  { db, clock }: Deps,
  { teamId, actor }: { teamId: number; actor: Actor },
  { label, baseUrl }: { label: string; baseUrl: string },
): Promise<LinkRow> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    await assertTeamIn(trx, teamId)
    const link = await createLinkIn(trx, { teamId, label, baseUrl, createdAt: at })
    const detail = { id: link.id, baseUrl }
    await recordChange(trx, { at, actor, teamId, action: 'links.create', target: label, detail })
    return link
  })
}

/** @throws DomainError not_found */
export async function removeLink({ db, clock }: Deps, actor: Actor, id: number): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const link = ownOf(actor, await findLink(trx, id), 'link')
    await deleteLink(trx, id)
    const { teamId, label: target, baseUrl } = link
    await recordChange(trx, { at, actor, teamId, action: 'links.delete', target, detail: { id, baseUrl } })
  })
}

// Public pages show links, so unlike redirects they must lead to the web.
const checkLinkUrl = (url: string): string | undefined =>
  /^https?:\/\//i.test(url) ? checkRedirectUrl(url) : 'must begin with http:// or https:// and a host'
