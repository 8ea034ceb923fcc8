import { parseScopes, type Scope } from '../../../values/scopes.ts'
import {
  allCredentials,
  credentialsOfTeam,
  findCredential,
  findCredentialByMac,
  findLiveCredential,
  insertCredential,
  revokeCredential,
  rollCredential,
} from '../../store/access/credentials.ts'
import { recordChange } from '../../store/audit/audit.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { CredentialRow } from '../../store/schema/schema.ts'
import { alreadyExists, conflict, invalid, notFound } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { type CredentialKind, type Credentials, hintOf, newSecret, nounOf, rootName } from './credentials.ts'
import { type EndedDeps, logPaused, pauseEndedBatches } from './ended-batches.ts'
import { assertGrantable, assertNotOutlived, endOf, type Operator } from './grants.ts'
import { assertTeamIn } from './teams.ts'

export type { CredentialRow }

interface Deps {
  db: Db
  clock: Clock
  credentials: Credentials
}

export interface NewCredential {
  /** null: all teams, which only an admin token can be for. */
  teamId: number | null
  name: string
  scopes: readonly Scope[]
  /** ISO 8601; null or absent: as long as its creator. */
  expiresAt?: string | null | undefined
}

const actionOf = (kind: CredentialKind, verb: 'create' | 'revoke' | 'roll') =>
  kind === 'apiKeys' ? (`api-keys.${verb}` as const) : (`admin-tokens.${verb}` as const)

/** @param teamId null: those of all teams, which belong to none included */
export async function listCredentials(
  { db, credentials }: Pick<Deps, 'credentials'> & { db: Pick<Db, 'read'> },
  kind: CredentialKind,
  teamId: number | null,
): Promise<CredentialRow[]> {
  await credentials.uses.flush()
  return teamId === null ? allCredentials(db.read, kind) : credentialsOfTeam(db.read, kind, teamId)
}

/** A creator can grant only what it has. @throws DomainError already_exists, invalid_input, scope_missing, not_found */
export async function createCredential(
  { db, clock, credentials }: Deps,
  { holder, actor }: Operator,
  kind: CredentialKind,
  { teamId, name, scopes, expiresAt: requestedExpiry = null }: NewCredential,
): Promise<{ row: CredentialRow; secret: string }> {
  const at = iso(clock.now())
  assertGrantable(holder, scopes)
  const expiresAt = endOf(holder, requestedExpiry)
  if (expiresAt !== null && expiresAt <= at)
    throw invalid('expiresAt', `must be in the future; it is now ${at}`)
  const secret = newSecret(kind)
  const row = await db.write(async (trx) => {
    if (teamId !== null) await assertTeamIn(trx, teamId)
    // The audit log names tokens, so none shares a name with another one, or with the root token.
    const isTaken =
      kind === 'apiKeys'
        ? teamId !== null && (await findLiveCredential(trx, kind, name, teamId)) !== undefined
        : name === rootName || (await findLiveCredential(trx, kind, name)) !== undefined
    if (isTaken)
      throw alreadyExists(
        kind === 'apiKeys'
          ? `There is already an API key named "${name}". Revoke it, or choose another name.`
          : `The name "${name}" is taken: names of admin tokens are unique on a daemon, over all teams. Choose another name.`,
      )
    const granted = { teamId, name, scopes, expiresAt }
    const inserted = await insertSecret(trx, credentials, kind, { ...granted, secret, at })
    const detail = { id: inserted.id, scopes, expiresAt }
    await recordChange(trx, { at, actor, teamId, action: actionOf(kind, 'create'), target: name, detail })
    return inserted
  })
  await credentials.load(db.read)
  return { row, secret }
}

type NewSecret = Required<NewCredential> & { expiresAt: string | null; secret: string; at: string }

const insertSecret = (
  trx: Queries,
  credentials: Pick<Credentials, 'stored'>,
  kind: CredentialKind,
  { teamId, name, scopes, expiresAt, secret, at: createdAt }: NewSecret,
): Promise<CredentialRow> =>
  insertCredential(trx, kind, {
    ...credentials.stored(kind, secret, {
      teamId,
      name,
      scopes: JSON.stringify([...new Set(scopes)]),
      expiresAt,
    }),
    hint: hintOf(secret),
    createdAt,
  })

/** A step of a seed; the caller reloads the credentials. @throws DomainError conflict if another team has the key */
export async function ensureApiKeyIn(
  trx: Queries,
  credentials: Pick<Credentials, 'macOf' | 'stored'>,
  { key, ...input }: { teamId: number; name: string; key: string; at: string },
): Promise<void> {
  const known = await findCredentialByMac(trx, 'apiKeys', credentials.macOf('apiKeys', key))
  if (known && known.teamId !== input.teamId) throw conflict('the key belongs to another team')
  if (!known)
    await insertSecret(trx, credentials, 'apiKeys', {
      ...input,
      scopes: ['all'],
      expiresAt: null,
      secret: key,
    })
}

/** Effective at once, also for its batches; revoking twice is not an error. @throws DomainError not_found, scope_missing */
export async function removeCredential(
  { db, clock, credentials, log }: Deps & EndedDeps,
  operator: Operator,
  kind: CredentialKind,
  id: number,
): Promise<void> {
  const at = iso(clock.now())
  const { actor } = operator
  const paused = await db.write(async (trx) => {
    await manageable(trx, operator, kind, id)
    const revoked = await revokeCredential(trx, kind, { id, at })
    if (!revoked) return []
    const { teamId, name: target } = revoked
    await recordChange(trx, { at, actor, teamId, action: actionOf(kind, 'revoke'), target, detail: { id } })
    return pauseEndedBatches(trx, { at, actor })
  })
  logPaused(log, paused)
  await credentials.load(db.read)
}

/** A secret that somebody was just given must not end by another roll at the same time. */
const rollEveryMs = 10_000

/**
 * Gives a credential a new secret; the old one lives for `overlapMs`, unless it is revoked.
 * @throws DomainError not_found, scope_missing; conflict if it has ended, was just rolled, or has an old secret already
 */
export async function rollSecret(
  { db, clock, credentials }: Deps,
  operator: Operator,
  kind: CredentialKind,
  { id, overlapMs }: { id: number; overlapMs: number },
): Promise<{ id: number; name: string; key: string; oldUntil: string }> {
  const [now, secret] = [clock.now(), newSecret(kind)]
  const at = iso(now)
  const noun = nounOf(kind)
  const rolled = await db.write(async (trx) => {
    const row = await manageable(trx, operator, kind, id)
    assertNotOutlived(operator.holder, row)
    const { name, teamId, expiresAt, revokedAt, rolledAt, previousUntil } = row
    if (revokedAt !== null || (expiresAt !== null && expiresAt <= at))
      throw conflict(`The ${noun} "${name}" has ended. Create another one.`)
    if (rolledAt !== null && Math.abs(now - Date.parse(rolledAt)) < rollEveryMs) throw justRolled(noun, name)
    if (overlapMs > 0 && previousUntil !== null && previousUntil > at)
      throw conflict(
        `The ${noun} "${name}" was rolled, and its old secret lives until ${previousUntil}. Roll it after that, or with an overlap of 0, which ends all its other secrets at once.`,
      )
    const wanted = iso(now + overlapMs)
    const oldUntil = expiresAt !== null && expiresAt < wanted ? expiresAt : wanted
    const columns = credentials.rolled(kind, row, secret, oldUntil)
    const isOurs = await rollCredential(trx, kind, row, { ...columns, hint: hintOf(secret), rolledAt: at })
    if (!isOurs) throw justRolled(noun, name)
    const entry = { at, actor: operator.actor, teamId, target: name, detail: { id, oldUntil } }
    await recordChange(trx, { ...entry, action: actionOf(kind, 'roll') })
    return { id, name, key: secret, oldUntil }
  })
  await credentials.load(db.read)
  return rolled
}

const justRolled = (noun: string, name: string) =>
  conflict(`The ${noun} "${name}" was rolled a moment ago. Whoever did it has the new secret.`)

/** Of the caller's team, and with no more scopes than the caller has. @throws DomainError not_found, scope_missing */
async function manageable(
  trx: Queries,
  { holder }: Operator,
  kind: CredentialKind,
  id: number,
): Promise<CredentialRow> {
  const row = await findCredential(trx, kind, id)
  if (!row || (holder.teamId !== null && row.teamId !== holder.teamId)) throw notFound(nounOf(kind))
  assertGrantable(holder, parseScopes(row.scopes))
  return row
}
