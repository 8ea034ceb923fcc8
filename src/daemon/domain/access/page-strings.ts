import { findTeam, updateTeam } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import { pageOfChip } from '../../store/tap-page/tap-pages.ts'
import { notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

/**
 * Replaces a team's own texts of tap pages.
 * @param texts JSON by language and key; null: none
 * @throws DomainError not_found
 */
export async function setPageStrings(
  { db, clock }: { db: Db; clock: Clock },
  { teamId, actor }: { teamId: number; actor: Actor },
  texts: string | null,
): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const team = await findTeam(trx, teamId)
    if (!team) throw notFound('team')
    if (team.pageStrings === texts) return
    await updateTeam(trx, teamId, { pageStrings: texts })
    const own: Record<string, object> = JSON.parse(texts ?? '{}')
    const detail = {
      own: Object.entries(own).flatMap(([language, of]) =>
        Object.keys(of).map((key) => `${language} ${key}`),
      ),
    }
    await recordChange(trx, { at, actor, teamId, action: 'pages.strings', target: team.name, detail })
  })
}

/** As stored, of the team of a chip. */
export const pageStringsOfChip = async (
  { db }: { db: Pick<Db, 'read'> },
  uid: string,
): Promise<string | null> => (await pageOfChip(db.read, uid))?.brand.pageStrings ?? null
