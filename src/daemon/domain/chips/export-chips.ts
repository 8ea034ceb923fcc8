import { chipGroupsOfTeam } from '../../store/chip-groups.ts'
import { chipsAsLines } from '../../store/chip-pages.ts'
import type { Db } from '../../store/database.ts'
import { getGroup } from './chip-groups.ts'

/**
 * The chips of a team, or of one of its groups, as JSON lines in pieces: group by group, in the order of their UIDs.
 * @param nameOrId of a chip group @throws DomainError not_found
 */
export async function exportChips(
  { db }: { db: Pick<Db, 'read' | 'slow'> },
  teamId: number,
  nameOrId: string | undefined,
): Promise<AsyncGenerator<string>> {
  const groups =
    nameOrId === undefined
      ? await chipGroupsOfTeam(db.read, teamId)
      : [await getGroup(db.read, teamId, nameOrId)]
  return chipsAsLines(db, groups)
}
