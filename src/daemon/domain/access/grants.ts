import { permits, type Scope } from '../../../values/scopes.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { invalid, scopeMissing } from '../errors/errors.ts'
import type { AdminToken } from './credentials.ts'

// A holder of an admin token can grant people and chips no more rights than it has, and for no longer.

export interface Operator {
  readonly actor: Actor
  readonly token: AdminToken
}

/**
 * Power over a token, or over codes from taps, requires `transfer`: otherwise anyone able to make and bind taps
 * could take the token. @param action a gerund phrase @throws DomainError scope_missing
 */
export function assertMayTransfer(
  { name, scopes }: Pick<AdminToken, 'name' | 'scopes'>,
  action: string,
): void {
  if (permits(scopes, 'transfer')) return
  throw scopeMissing(
    `The admin token "${name}" lacks the scope "transfer", and ${action} gives power over the chip's assets. Nothing was changed. Use a token that has it, or create one.`,
  )
}

const ofApiKeys: readonly Scope[] = ['read', 'edit', 'transfer', 'approve']

/** Default scopes of a new API key: all that its creator can grant. */
export const grantable = (creator: AdminToken): readonly Scope[] =>
  creator.scopes.includes('all') ? ['all'] : ofApiKeys.filter((scope) => permits(creator.scopes, scope))

/** @throws DomainError scope_missing */
export function assertGrantable(holder: AdminToken, scopes: readonly Scope[]): void {
  const missing = scopes.filter((scope) => !permits(holder.scopes, scope))
  if (missing.length === 0) return
  throw scopeMissing(
    `The admin token "${holder.name}" lacks the scope ${missing.join(', ')}, and cannot grant or revoke what it does not have.`,
  )
}

/** The expiry of a granted credential, never after the grantor's own. @throws DomainError invalid_input */
export function endOf({ expiresAt }: AdminToken, requested: string | null): string | null {
  if (expiresAt === null) return requested
  if (requested !== null && requested > expiresAt)
    throw invalid('expiresAt', `must not be after ${expiresAt}, when your own token expires`)
  return requested ?? expiresAt
}
