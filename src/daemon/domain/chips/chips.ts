import { getAddress } from 'viem/utils'
import type { KeyedMutex } from '../../../values/semaphore.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  chipGroupsOfTeam,
  chipsAsElements,
  chipsAsLines,
  findChipGroup,
  findChipGroupNamed,
} from '../../store/chips/chip-groups.ts'
import type { ChipFilter } from '../../store/chips/chip-selection.ts'
import { redirectsOf, setRedirects } from '../../store/chips/chips.ts'
import type { Db } from '../../store/database/database.ts'
import { DomainError, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { getGroup } from './chip-groups.ts'
import { changeInPieces, minBatchSize, namedChips } from './named-chips.ts'

export type { ChipFilter }

type Deps = { db: Db; clock: Clock }

/** Changes nothing if a UID is unknown. @throws DomainError not_found with the unknown UIDs */
export async function editChips(
  deps: Deps & { edits: KeyedMutex },
  { teamId, actor }: { teamId: number; actor: Actor },
  edit: { uids: readonly string[]; redirectUrl: string | null },
): Promise<void> {
  const redirectUrl = edit.redirectUrl || null
  const uids = await namedChips(deps.db, teamId, edit.uids)
  const apply = () =>
    changeInPieces(deps, { teamId, uids }, async (trx, { target, detail, uids: chips }) => {
      const at = iso(deps.clock.now())
      const rows = await redirectsOf(trx, chips)
      const changed = await setRedirects(trx, { teamId, uids: chips, redirectUrl, at })
      const record = { redirectUrl, ...detail, rows }
      await recordChange(trx, { at, actor, teamId, action: 'chips.edit', target, detail: record })
      return changed
    })
  const team = String(teamId)
  if (uids.length > minBatchSize) return deps.edits.run(team, apply)
  // A single write only has to wait for edits that are already split into batches.
  await deps.edits.before(team)
  return apply()
}

/** Yields a JSON array in pieces. @throws DomainError invalid_input, not_found */
export async function listGroup(
  { db }: Deps,
  teamId: number,
  which: { chipGroupId?: number | undefined; name?: string | undefined },
): Promise<AsyncGenerator<string>> {
  if (which.chipGroupId === undefined && which.name === undefined) {
    throw new DomainError('invalid_input', 'chipGroupId or name is required to list a chip group')
  }
  const group =
    which.chipGroupId !== undefined
      ? await findChipGroup(db.read, teamId, which.chipGroupId)
      : await findChipGroupNamed(db.read, teamId, which.name ?? '')
  if (!group) throw notFound('chip group')
  return chipsJson(db, group.id)
}

async function* chipsJson(db: Db, chipGroupId: number): AsyncGenerator<string> {
  let glue = '['
  for await (const elements of chipsAsElements(db, chipGroupId)) {
    yield glue + elements
    glue = ','
  }
  yield glue === '[' ? '[]' : ']'
}

/** Yields JSON lines by group and UID; all groups without `nameOrId`. @throws DomainError not_found */
export async function exportChips(
  { db }: { db: Pick<Db, 'read' | 'slow'> },
  teamId: number,
  nameOrId: string | undefined,
  filter: ChipFilter = {},
): Promise<AsyncGenerator<string>> {
  const groups =
    nameOrId === undefined
      ? await chipGroupsOfTeam(db.read, teamId)
      : [await getGroup(db.read, teamId, nameOrId)]
  const { contractAddress: address, ...rest } = filter
  const contractAddress = address == null ? address : getAddress(address.toLowerCase())
  return chipsAsLines(db, groups, { ...rest, contractAddress })
}
