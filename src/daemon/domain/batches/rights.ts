import { parseScopes, permits, type Scope } from '../../../values/scopes.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { BatchRow } from '../../store/batches/batches.ts'
import { scopeMissing } from '../errors/errors.ts'
import type { BatchKind } from './kind.ts'

export interface BatchCaller {
  readonly actor: Actor
  /** undefined: an admin token, which sees the batches of all teams. */
  readonly teamId: number | undefined
  readonly scopes: readonly Scope[]
  /** Names the credential for ever, since names are given again: `key 3`, `token 0`. */
  readonly credential: string
}

/**
 * Whoever begins, resumes, or undoes a batch, or reads its rows, needs the scope of its kind.
 * @throws DomainError scope_missing
 */
export function assertMayRun(
  { teamId, scopes }: BatchCaller,
  { isAdmin, scope }: Pick<BatchKind, 'isAdmin' | 'scope'>,
  kind: string,
): void {
  if (isAdmin && teamId !== undefined)
    throw scopeMissing(`A batch of ${kind} takes an admin token, and no API key.`)
  if (!permits(scopes, scope)) throw scopeMissing(`A batch of ${kind} takes the scope "${scope}".`)
}

/** Without which sort of credential it is. */
export const nameOf = ({ name }: Pick<Actor, 'name'>): string => name.replace(/^(key|admin):/, '')

type StartedBatch = Pick<BatchRow, 'id' | 'startedBy' | 'startedById' | 'scopes'>

/**
 * Rows run with the scopes of whoever began their batch, so nobody else gives it rows, or decides what its plan binds.
 * @throws DomainError scope_missing
 */
export function assertBegan({ credential }: BatchCaller, { id, startedBy, startedById }: StartedBatch): void {
  if (startedById === credential) return
  throw scopeMissing(
    `Batch ${id} was begun by ${nameOf({ name: startedBy })}, with another credential. Only that one can upload its rows or plan it. To run them with yours, give another name, or remove it first: tapchip batch remove ${id}`,
  )
}

/** @throws DomainError scope_missing if its rows would do what its caller may not */
export function assertMayStart({ credential, scopes }: BatchCaller, begun: StartedBatch): void {
  if (begun.startedById === credential) return
  const missing = parseScopes(begun.scopes).filter((scope) => !permits(scopes, scope))
  if (missing.length === 0) return
  throw scopeMissing(
    `Batch ${begun.id} was begun by ${nameOf({ name: begun.startedBy })}, and its rows run with the scopes of that credential. Yours lacks: ${missing.join(', ')}.`,
  )
}
