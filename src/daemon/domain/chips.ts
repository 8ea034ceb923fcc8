import { decimalReading } from '../../nfc/uid.ts'
import type { Actor } from '../store/audit.ts'
import { recordChange } from '../store/audit.ts'
import { findChipGroup, findChipGroupNamed } from '../store/chip-groups.ts'
import type { Db } from '../store/database.ts'
import { chipsPageJson, notOfTeam, setRedirects } from '../store/sqlite-chips.ts'
import { DomainError, invalid, notFound } from './errors.ts'
import { checkRedirectUrl } from './redirect.ts'
import { type Clock, iso } from './time.ts'

type Deps = { db: Db; clock: Clock }

/** A redirect URL as it is kept: empty means none. @throws DomainError invalid_input */
export function redirectUrlFrom(value: string | null, field = 'updates.redirectUrl'): string | null {
  if (value === null || value === '') return null
  const reason = checkRedirectUrl(value)
  if (reason) throw invalid(field, reason)
  return value
}

/**
 * Sets the redirect URL of chips, of all of them or of none.
 * @throws DomainError invalid_input, not_found naming chips that are not the team's
 */
export async function editChips(
  { db, clock }: Deps,
  caller: { teamId: number; actor: Actor },
  edit: { uids: readonly string[]; redirectUrl: string | null },
): Promise<void> {
  const redirectUrl = redirectUrlFrom(edit.redirectUrl)
  const given = [...new Set(edit.uids)].sort()
  await db.write(async (trx) => {
    let uids = given
    let changed = await setRedirects(trx, { teamId: caller.teamId, uids, redirectUrl })
    if (changed !== uids.length && uids.some((uid) => decimalReading(uid) !== undefined)) {
      const unknown = new Set(await notOfTeam(trx, caller.teamId, uids))
      uids = uids.map((uid) => (unknown.has(uid) ? (decimalReading(uid) ?? uid) : uid)).sort()
      changed = await setRedirects(trx, { teamId: caller.teamId, uids, redirectUrl })
    }
    if (changed !== uids.length) {
      const unknown = await notOfTeam(trx, caller.teamId, uids)
      const more = unknown.length - unknownNamed
      throw new DomainError(
        'not_found',
        `tagUIDs names chips that your team does not have: ${unknown.slice(0, unknownNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}. Nothing was changed.`,
      )
    }
    await recordChange(trx, {
      at: iso(clock.now()),
      actor: caller.actor,
      teamId: caller.teamId,
      action: 'chips.edit',
      target: uids.length === 1 ? (uids[0] ?? '') : `${uids.length} chips`,
      detail: { redirectUrl, uids: uids.slice(0, uidsInRecord) },
    })
  })
}

const unknownNamed = 20
// The record of a change names its chips, but a record of a hundred thousand helps nobody.
const uidsInRecord = 100
const pageSize = 2000

/**
 * The chips of a group as JSON text, in pieces: a page at a time, so that taps are served in between.
 * @throws DomainError invalid_input, not_found
 */
export async function listGroup(
  { db }: Deps,
  teamId: number,
  which: { chipGroupId?: number | undefined; name?: string | undefined },
): Promise<AsyncGenerator<string>> {
  if (which.chipGroupId === undefined && which.name === undefined) {
    throw new DomainError('invalid_input', 'chipGroupId or name is required: say which chip group to list')
  }
  const group =
    which.chipGroupId !== undefined
      ? await findChipGroup(db.read, teamId, which.chipGroupId)
      : await findChipGroupNamed(db.read, teamId, which.name ?? '')
  if (!group) throw notFound('chip group')
  return chipsJson(db, group.id)
}

async function* chipsJson(db: Db, chipGroupId: number): AsyncGenerator<string> {
  let after = ''
  let glue = '['
  for (;;) {
    const { json, last } = await chipsPageJson(db.read, { chipGroupId, after, limit: pageSize })
    if (last === null) break
    yield `${glue}${json.slice(1, -1)}`
    glue = ','
    after = last
    await new Promise(setImmediate)
  }
  yield glue === '[' ? '[]' : ']'
}
