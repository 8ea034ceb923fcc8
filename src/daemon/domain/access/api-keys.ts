import { parseScopes, type Scope } from '../../../values/scopes.ts'
import {
  apiKeysOfTeam,
  findApiKey,
  findApiKeyByMac,
  findLiveApiKey,
  insertApiKey,
  revokeApiKey,
} from '../../store/access/credentials.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { ApiKeyRow } from '../../store/schema/schema.ts'
import { alreadyExists, conflict, invalid, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { type AdminToken, type Credentials, hintOf, newSecret } from './credentials.ts'
import { type EndedDeps, logPaused, pauseEndedBatches } from './ended-batches.ts'
import { assertGrantable, endOf, grantable, type Operator } from './grants.ts'
import { assertTeamIn } from './teams.ts'

export type { ApiKeyRow }

interface Deps {
  db: Db
  clock: Clock
  credentials: Credentials
}

export interface NewCredential {
  name: string
  scopes?: readonly Scope[] | undefined
  /** ISO 8601. */
  expiresAt?: string | null | undefined
}

export const listApiKeys = ({ db }: { db: Pick<Db, 'read'> }, teamId: number): Promise<ApiKeyRow[]> =>
  apiKeysOfTeam(db.read, teamId)

/** A creator can grant only scopes that it has. @throws DomainError already_exists, invalid_input, scope_missing */
export async function createApiKey(
  { db, clock, credentials }: Deps,
  { teamId, actor, token: creator }: { teamId: number; actor: Actor; token: AdminToken },
  { name, scopes = grantable(creator), expiresAt: requestedExpiry = null }: NewCredential,
): Promise<{ row: ApiKeyRow; key: string }> {
  const at = iso(clock.now())
  assertGrantable(creator, scopes)
  const expiresAt = endOf(creator, requestedExpiry)
  assertFuture(expiresAt, at)
  const key = newSecret('svc')
  const row = await db.write(async (trx) => {
    await assertTeamIn(trx, teamId)
    if (await findLiveApiKey(trx, teamId, name)) {
      throw alreadyExists(
        `The team already has an API key named "${name}". Revoke it, or choose another name.`,
      )
    }
    const inserted = await ensureApiKeyIn(trx, credentials, { teamId, name, key, scopes, expiresAt, at })
    const detail = { id: inserted.id, scopes, expiresAt }
    await recordChange(trx, { at, actor, teamId, action: 'api-keys.create', target: name, detail })
    return inserted
  })
  await credentials.load(db.read)
  return { row, key }
}

/**
 * A step of a larger write; the caller reloads the credentials. @throws DomainError conflict if another team has
 * the key
 */
export async function ensureApiKeyIn(
  trx: Queries,
  credentials: Pick<Credentials, 'macOf' | 'stored'>,
  input: {
    teamId: number
    name: string
    key: string
    scopes: readonly Scope[]
    expiresAt: string | null
    at: string
  },
): Promise<ApiKeyRow> {
  const { teamId, name, key, scopes, expiresAt, at: createdAt } = input
  const known = await findApiKeyByMac(trx, credentials.macOf('apiKeys', key))
  if (known && known.teamId !== teamId) throw conflict('the key belongs to another team')
  return (
    known ??
    insertApiKey(trx, {
      ...credentials.stored('apiKeys', key, {
        teamId,
        name,
        scopes: JSON.stringify([...new Set(scopes)]),
        expiresAt,
      }),
      hint: hintOf(key),
      createdAt,
      revokedAt: null,
    })
  )
}

/** Effective at once, also for its batches; revoking twice is not an error. @throws DomainError not_found, scope_missing */
export async function removeApiKey(
  { db, clock, credentials, log }: Deps & EndedDeps,
  { token: caller, actor }: Operator,
  id: number,
): Promise<void> {
  const at = iso(clock.now())
  const paused = await db.write(async (trx) => {
    const known = await findApiKey(trx, id)
    if (!known) throw notFound('API key')
    // A caller cannot revoke a key that has more scopes than its own.
    assertGrantable(caller, parseScopes(known.scopes))
    const revoked = await revokeApiKey(trx, id, at)
    if (!revoked) return []
    const { teamId, name: target } = revoked
    await recordChange(trx, { at, actor, teamId, action: 'api-keys.revoke', target, detail: { id } })
    return pauseEndedBatches(trx, { at, actor })
  })
  logPaused(log, paused)
  await credentials.load(db.read)
}

/** @throws DomainError invalid_input */
export function assertFuture(expiresAt: string | null, now: string): void {
  if (expiresAt !== null && expiresAt <= now)
    throw invalid('expiresAt', `must be in the future; it is now ${now}`)
}
