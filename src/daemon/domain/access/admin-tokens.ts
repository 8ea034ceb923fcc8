import { parseScopes, type Scope } from '../../../values/scopes.ts'
import {
  allAdminTokens,
  findAdminToken,
  findLiveAdminToken,
  insertAdminToken,
  revokeAdminToken,
} from '../../store/access/credentials.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import type { AdminTokenRow } from '../../store/schema/schema.ts'
import { alreadyExists, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { assertFuture, type NewCredential } from './api-keys.ts'
import { type AdminToken, type Credentials, newSecret, rootName } from './credentials.ts'
import { type EndedDeps, logPaused, pauseEndedBatches } from './ended-batches.ts'
import { assertGrantable, endOf } from './grants.ts'

export type { AdminTokenRow }

interface Deps {
  db: Db
  clock: Clock
  credentials: Credentials
}

export const listAdminTokens = ({ db }: { db: Pick<Db, 'read'> }): Promise<AdminTokenRow[]> =>
  allAdminTokens(db.read)

/** A creator can grant only scopes that it has. @throws DomainError scope_missing, already_exists, invalid_input */
export async function createAdminToken(
  { db, clock, credentials }: Deps,
  { token: creator, actor }: { token: AdminToken; actor: Actor },
  { name, scopes, expiresAt: requestedExpiry = null }: NewCredential & { scopes: readonly Scope[] },
): Promise<{ row: AdminTokenRow; token: string }> {
  const at = iso(clock.now())
  assertGrantable(creator, scopes)
  const expiresAt = endOf(creator, requestedExpiry)
  assertFuture(expiresAt, at)
  const token = newSecret('adm')
  const row = await db.write(async (trx) => {
    // The audit log names tokens, so none may share the name of the root token.
    if (name === rootName || (await findLiveAdminToken(trx, name))) {
      throw alreadyExists(`An admin token named "${name}" already exists. Choose another name.`)
    }
    const inserted = await insertAdminToken(trx, {
      ...credentials.stored('adminTokens', token, {
        name,
        scopes: JSON.stringify([...new Set(scopes)]),
        expiresAt,
      }),
      createdAt: at,
      revokedAt: null,
    })
    const detail = { id: inserted.id, scopes, expiresAt }
    await recordChange(trx, { at, actor, teamId: null, action: 'admin-tokens.create', target: name, detail })
    return inserted
  })
  await credentials.load(db.read)
  return { row, token }
}

/** Effective at once, also for its batches; revoking twice is not an error. @throws DomainError not_found, scope_missing */
export async function removeAdminToken(
  { db, clock, credentials, log }: Deps & EndedDeps,
  { token: caller, actor }: { token: AdminToken; actor: Actor },
  id: number,
): Promise<void> {
  const at = iso(clock.now())
  const paused = await db.write(async (trx) => {
    const known = await findAdminToken(trx, id)
    // A token with fewer scopes cannot revoke one with more.
    if (known) assertGrantable(caller, parseScopes(known.scopes))
    const revoked = await revokeAdminToken(trx, id, at)
    if (!known) throw notFound('admin token')
    if (!revoked) return []
    await recordChange(trx, {
      at,
      actor,
      teamId: null,
      action: 'admin-tokens.revoke',
      target: revoked.name,
      detail: { id },
    })
    return pauseEndedBatches(trx, { at, actor })
  })
  logPaused(log, paused)
  await credentials.load(db.read)
}
