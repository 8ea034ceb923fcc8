import { parseScopes, type Scope } from '../../../values/scopes.ts'
import {
  allAdminTokens,
  apiKeysOfTeam,
  findAdminToken,
  findApiKey,
  findApiKeyByMac,
  findLiveAdminToken,
  findLiveApiKey,
  insertAdminToken,
  insertApiKey,
  revokeAdminToken,
  revokeApiKey,
} from '../../store/access/credentials.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { AdminTokenRow, ApiKeyRow } from '../../store/schema/schema.ts'
import { alreadyExists, conflict, invalid, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { type AdminToken, type Credentials, hintOf, newSecret, rootName } from './credentials.ts'
import { type EndedDeps, logPaused, pauseEndedBatches } from './ended-batches.ts'
import { assertGrantable, endOf, grantable, type Operator } from './grants.ts'
import { assertTeamIn } from './teams.ts'

export type { AdminTokenRow, ApiKeyRow }

interface Deps {
  db: Db
  clock: Clock
  credentials: Credentials
}

interface NewCredential {
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

/** @throws as revokeOnce */
export const removeApiKey = (deps: RevokeDeps, caller: Operator, id: number): Promise<void> =>
  revokeOnce(deps, caller, id, {
    noun: 'API key',
    action: 'api-keys.revoke',
    find: findApiKey,
    revoke: revokeApiKey,
  })

/** @throws DomainError invalid_input */
function assertFuture(expiresAt: string | null, now: string): void {
  if (expiresAt !== null && expiresAt <= now)
    throw invalid('expiresAt', `must be in the future; it is now ${now}`)
}

export const listAdminTokens = ({ db }: { db: Pick<Db, 'read'> }): Promise<AdminTokenRow[]> =>
  allAdminTokens(db.read)

/** A creator can grant only scopes that it has. @throws DomainError scope_missing, already_exists, invalid_input */
export async function createAdminToken(
  { db, clock, credentials }: Deps,
  { token: creator, actor }: Operator,
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

/** @throws as revokeOnce */
export const removeAdminToken = (deps: RevokeDeps, caller: Operator, id: number): Promise<void> =>
  revokeOnce(deps, caller, id, {
    noun: 'admin token',
    action: 'admin-tokens.revoke',
    find: findAdminToken,
    revoke: revokeAdminToken,
  })

type RevokeDeps = Deps & EndedDeps
type Row = ApiKeyRow | AdminTokenRow

interface Revocable {
  readonly noun: string
  readonly action: 'api-keys.revoke' | 'admin-tokens.revoke'
  find(trx: Queries, id: number): Promise<Row | undefined>
  /** Undefined: it was revoked before. */
  revoke(trx: Queries, id: number, at: string): Promise<Row | undefined>
}

/** Effective at once, also for its batches; revoking twice is not an error. @throws DomainError not_found, scope_missing */
async function revokeOnce(
  { db, clock, credentials, log }: RevokeDeps,
  { token: caller, actor }: Operator,
  id: number,
  { noun, action, find, revoke }: Revocable,
): Promise<void> {
  const at = iso(clock.now())
  const paused = await db.write(async (trx) => {
    const known = await find(trx, id)
    if (!known) throw notFound(noun)
    // A caller cannot revoke a credential that has more scopes than its own.
    assertGrantable(caller, parseScopes(known.scopes))
    const revoked = await revoke(trx, id, at)
    if (!revoked) return []
    const teamId = 'teamId' in revoked ? revoked.teamId : null
    await recordChange(trx, { at, actor, teamId, action, target: revoked.name, detail: { id } })
    return pauseEndedBatches(trx, { at, actor })
  })
  logPaused(log, paused)
  await credentials.load(db.read)
}
