import { type Actor, recordChange } from '../../store/audit/audit.ts'
import {
  chipGroupsOfTeam,
  deleteChipGroup,
  findAnyChipGroup,
  findChipGroup,
  findChipGroupNamed,
  insertChipGroup,
  renameChipGroup,
} from '../../store/chips/chip-groups.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ChipGroupRow } from '../../store/schema/schema.ts'
import { assertTeamIn } from '../access/teams.ts'
import { DomainError, notFound, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

export type { ChipGroupRow }

type Deps = { db: Db; clock: Clock }

export const listChipGroups = ({ db }: { db: Pick<Db, 'read'> }, teamId: number): Promise<ChipGroupRow[]> =>
  chipGroupsOfTeam(db.read, teamId)

export async function findGroup(
  db: Queries,
  teamId: number,
  nameOrId: string,
): Promise<ChipGroupRow | undefined> {
  const named = await findChipGroupNamed(db, teamId, nameOrId)
  if (named || !/^\d{1,15}$/.test(nameOrId)) return named
  return findChipGroup(db, teamId, Number(nameOrId))
}

/** @throws DomainError not_found */
export async function getGroup(db: Queries, teamId: number, nameOrId: string): Promise<ChipGroupRow> {
  const group = await findGroup(db, teamId, nameOrId)
  if (!group) throw notFound('chip group')
  return group
}

/** @throws DomainError already_exists */
export function createChipGroup(
  { db, clock }: Deps,
  { teamId, actor }: { teamId: number; actor: Actor },
  name: string,
): Promise<ChipGroupRow> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    await assertTeamIn(trx, teamId)
    await assertNameIsFree(trx, { teamId, name })
    return ensureChipGroupIn(trx, { teamId, name, at }, actor)
  })
}

/** Finds or creates the group. @param actor undefined: the creation is not recorded in the audit log */
export async function ensureChipGroupIn(
  trx: Queries,
  { teamId, name, at }: { teamId: number; name: string; at: string },
  actor?: Actor,
): Promise<ChipGroupRow> {
  const known = await findChipGroupNamed(trx, teamId, name)
  if (known) return known
  const group = await insertChipGroup(trx, { teamId, name, createdAt: at })
  const detail = { id: group.id }
  if (actor)
    await recordChange(trx, { at, actor, teamId, action: 'chip-groups.create', target: name, detail })
  return group
}

/** Finds the group by name or ID, or creates a group with that name. */
export const ensureGroupIn = async (
  trx: Queries,
  { teamId, actor, at }: { teamId: number; actor: Actor; at: string },
  nameOrId: string,
): Promise<ChipGroupRow> =>
  (await findGroup(trx, teamId, nameOrId)) ?? ensureChipGroupIn(trx, { teamId, name: nameOrId, at }, actor)

/** @throws DomainError not_found, already_exists */
export function editChipGroup(
  { db, clock }: Deps,
  actor: Actor,
  { id, name }: { id: number; name: string },
): Promise<ChipGroupRow> {
  const at = iso(clock.now())
  return db.write(async (trx) => {
    const group = ownOf(actor, await findAnyChipGroup(trx, id), 'chip group')
    if (group.name === name) return group
    const { teamId, name: previous } = group
    await assertNameIsFree(trx, { teamId, name })
    await renameChipGroup(trx, id, name)
    const detail = { id, previous }
    await recordChange(trx, { at, actor, teamId, action: 'chip-groups.edit', target: name, detail })
    return { ...group, name }
  })
}

/** @throws DomainError not_found, in_use */
export async function removeChipGroup({ db, clock }: Deps, actor: Actor, id: number): Promise<void> {
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const group = ownOf(actor, await findAnyChipGroup(trx, id), 'chip group')
    if (group.chips > 0) {
      throw new DomainError(
        'in_use',
        `The chip group "${group.name}" holds ${group.chips} chips. Remove them first.`,
      )
    }
    await deleteChipGroup(trx, id)
    const { teamId, name: target } = group
    await recordChange(trx, { at, actor, teamId, action: 'chip-groups.delete', target, detail: { id } })
  })
}

async function assertNameIsFree(
  trx: Queries,
  { teamId, name }: { teamId: number; name: string },
): Promise<void> {
  if (!(await findChipGroupNamed(trx, teamId, name))) return
  throw new DomainError(
    'already_exists',
    `The team already has a chip group named "${name}". Choose another name.`,
  )
}
