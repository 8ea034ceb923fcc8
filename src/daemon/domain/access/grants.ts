import { permits, type Scope } from '../../../values/scopes.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { type DomainError, invalid, scopeMissing } from '../errors/errors.ts'
import { type Credential, titleOf } from './credentials.ts'

// A credential can grant people and chips no more rights than it has, and for no longer.

export interface Operator {
  readonly actor: Actor
  readonly holder: Credential
}

export type Grantor = Pick<Credential, 'kind' | 'name' | 'teamId' | 'scopes'>

/** The credential by whose name something is recorded. */
export const recordedAs = (
  { name }: Pick<Actor, 'name'>,
  teamId: number | null = null,
): Omit<Grantor, 'scopes'> => ({
  kind: name.startsWith('key:') ? 'apiKeys' : 'adminTokens',
  name: name.replace(/^(key|admin):/, ''),
  teamId,
})

/** Says which scope is missing and whom to ask. @param why a sentence */
export function lacking(
  holder: Omit<Grantor, 'scopes'>,
  missing: readonly Scope[],
  why?: string,
): DomainError {
  const where = holder.teamId === null ? '' : ' in your team'
  return scopeMissing(
    `${titleOf(holder)} lacks the scope ${missing.map((scope) => `"${scope}"`).join(', ')}${why === undefined ? '' : `: ${why}`}. ` +
      `Ask someone who has the scope "keys"${where} for a credential that has it.`,
  )
}

/** @throws DomainError scope_missing */
export function assertForAllTeams(holder: Credential, scope: Scope): void {
  if (holder.teamId === null) return
  throw scopeMissing(
    `${titleOf(holder)} is for one team, and this concerns all of them. Ask whoever runs the daemon: it takes an admin token without a team, with the scope "${scope}".`,
  )
}

/**
 * Power over a token, or over codes from taps, requires `transfer`: otherwise anyone able to make and bind taps
 * could take the token. @param action a gerund phrase @throws DomainError scope_missing
 */
export function assertMayTransfer(holder: Grantor, action: string): void {
  if (permits(holder.scopes, 'transfer')) return
  throw lacking(holder, ['transfer'], `${action} gives power over the chip's assets. Nothing was changed`)
}

const ofApiKeys: readonly Scope[] = ['read', 'edit', 'transfer', 'approve']

/** Default scopes of a new API key: all that its creator can grant. */
export const grantable = (creator: Credential): readonly Scope[] =>
  creator.scopes.includes('all') ? ['all'] : ofApiKeys.filter((scope) => permits(creator.scopes, scope))

/** @throws DomainError scope_missing */
export function assertGrantable(holder: Credential, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !permits(holder.scopes, scope))
  if (missing.length === 0) return
  throw lacking(holder, missing, 'nobody can grant or revoke what they do not have')
}

/** The expiry of a granted credential, never after the grantor's own. @throws DomainError invalid_input */
export function endOf({ expiresAt }: Credential, requested: string | null): string | null {
  if (expiresAt === null) return requested
  if (requested !== null && requested > expiresAt)
    throw invalid('expiresAt', `must not be after ${expiresAt}, when your own credential expires`)
  return requested ?? expiresAt
}

/**
 * Whoever rolls a credential gets its secret, which must not live longer than their own.
 * @throws DomainError scope_missing
 */
export function assertNotOutlived(
  holder: Credential,
  { name, expiresAt }: Pick<Credential, 'name' | 'expiresAt'>,
): void {
  const end = holder.expiresAt
  if (end === null || (expiresAt !== null && expiresAt <= end)) return
  throw scopeMissing(
    `${titleOf(holder)} expires at ${end}, and "${name}" lives longer: nobody can give a secret that outlives their own. Ask someone whose credential lives longer.`,
  )
}
