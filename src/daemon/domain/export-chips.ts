import { pagesOf } from '../../values/slices.ts'
import { chipGroupsOfTeam } from '../store/chip-groups.ts'
import { chipsPage } from '../store/chip-records.ts'
import type { ChipWithToken } from '../store/chips.ts'
import type { Db } from '../store/database.ts'
import type { ChipGroupRow } from '../store/schema.ts'
import { getGroup } from './import-chips.ts'

/** A chip and the group that it is in. */
export interface ExportedChip {
  chip: ChipWithToken
  chipGroup: string
}

/**
 * The chips of a team, or of one of its groups: group by group, in the order of their UIDs.
 * @param nameOrId of a chip group @throws DomainError not_found
 */
export async function exportChips(
  { db }: { db: Pick<Db, 'read'> },
  teamId: number,
  nameOrId: string | undefined,
): Promise<AsyncGenerator<ExportedChip>> {
  const groups =
    nameOrId === undefined
      ? await chipGroupsOfTeam(db.read, teamId)
      : [await getGroup(db.read, teamId, nameOrId)]
  return chipsOfGroups(db, groups)
}

async function* chipsOfGroups(
  db: Pick<Db, 'read'>,
  groups: readonly ChipGroupRow[],
): AsyncGenerator<ExportedChip> {
  for (const { id, name } of groups) {
    const page = (after: ChipWithToken | undefined, limit: number) =>
      chipsPage(db.read, { chipGroupId: id, after: after?.uid ?? '', limit })
    for await (const chip of pagesOf(page, { least: 50, most: 1000 })) yield { chip, chipGroup: name }
  }
}
