import { parseScopes, permits, type Scope } from '../../../values/scopes.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { BatchRow } from '../../store/batches/batches.ts'
import { scopeMissing } from '../errors/errors.ts'
import type { BatchKind } from './kind.ts'

export interface BatchCaller {
  readonly actor: Actor
  /** Undefined: an admin token, which sees all teams' batches. */
  readonly teamId: number | undefined
  readonly scopes: readonly Scope[]
  /** Permanently identifies the credential, since names can be reused: `key 3`, `token 0`. */
  readonly credential: string
}

/**
 * Beginning, resuming, or undoing a batch, or reading its rows, requires the scope of its kind.
 * @throws DomainError scope_missing
 */
export function assertMayRun(
  { teamId, scopes }: BatchCaller,
  { isAdmin, scope }: Pick<BatchKind, 'isAdmin' | 'scope'>,
  kind: string,
): void {
  if (isAdmin && teamId !== undefined)
    throw scopeMissing(`A batch of ${kind} requires an admin token; an API key is not enough.`)
  if (!permits(scopes, scope)) throw scopeMissing(`A batch of ${kind} requires the scope "${scope}".`)
}

/** The credential's name without the prefix of its kind. */
export const nameOf = ({ name }: Pick<Actor, 'name'>): string => name.replace(/^(key|admin):/, '')

type StartedBatch = Pick<BatchRow, 'id' | 'startedBy' | 'startedById' | 'scopes'>

/**
 * Rows run with the scopes of whoever started the batch, so nobody else may upload rows or change its settings.
 * @throws DomainError scope_missing
 */
export function assertBegan({ credential }: BatchCaller, { id, startedBy, startedById }: StartedBatch): void {
  if (startedById === credential) return
  throw scopeMissing(
    `Batch ${id} was started by ${nameOf({ name: startedBy })}, with another credential. Only that one can upload its rows or plan it. To run them with yours, give another name, or remove it first: tapchip batch remove ${id}`,
  )
}

/** @throws DomainError scope_missing if the rows need scopes that the caller lacks */
export function assertMayStart({ credential, scopes }: BatchCaller, begun: StartedBatch): void {
  if (begun.startedById === credential) return
  const missing = parseScopes(begun.scopes).filter((scope) => !permits(scopes, scope))
  if (missing.length === 0) return
  throw scopeMissing(
    `Batch ${begun.id} was started by ${nameOf({ name: begun.startedBy })}, and its rows run with the scopes of that credential. Yours lacks: ${missing.join(', ')}.`,
  )
}
