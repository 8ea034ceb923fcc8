import type { Actor } from '../../store/audit.ts'
import { DomainError, invalid } from '../errors.ts'
import type { AdminToken } from './credentials.ts'
import { permits, type Scope } from './scopes.ts'

// What the holder of an admin token may give, to others and to chips: no more than they have, and for no longer.

/** Who asks, and with which token. */
export interface Operator {
  readonly actor: Actor
  readonly token: AdminToken
}

/**
 * What gives power over a token, or over what a tap gives a code for, takes `transfer` besides the endpoint's own
 * scope: whoever can make taps of their own and bind them could otherwise have it. @param deed in an -ing form
 * @throws DomainError scope_missing
 */
export function assertMayTransfer(
  { name, scopes }: Pick<AdminToken, 'name' | 'scopes'>,
  action: string,
): void {
  if (permits(scopes, 'transfer')) return
  throw new DomainError(
    'scope_missing',
    `The admin token "${name}" lacks the scope "transfer", and ${action} gives power over what the chip stands for. Nothing was changed. Use a token that has it, or create one.`,
  )
}

const ofApiKeys: readonly Scope[] = ['read', 'edit', 'transfer']

/** The scopes of an API key that somebody makes without saying which: all that they can give. */
export const grantable = (creator: AdminToken): readonly Scope[] =>
  creator.scopes.includes('all') ? ['all'] : ofApiKeys.filter((scope) => permits(creator.scopes, scope))

/** @throws DomainError scope_missing */
export function assertGrantable(holder: AdminToken, scopes: readonly Scope[]): void {
  const beyond = scopes.filter((scope) => !permits(holder.scopes, scope))
  if (beyond.length === 0) return
  throw new DomainError(
    'scope_missing',
    `The admin token "${holder.name}" lacks the scope ${beyond.join(', ')}, and cannot give or take what it does not have.`,
  )
}

/** When what they give ends: never after their own end. @throws DomainError invalid_input */
export function endOf({ expiresAt }: AdminToken, wanted: string | null): string | null {
  if (expiresAt === null) return wanted
  if (wanted !== null && wanted > expiresAt)
    throw invalid('expiresAt', `must not be after ${expiresAt}, when your own token ends`)
  return wanted ?? expiresAt
}
