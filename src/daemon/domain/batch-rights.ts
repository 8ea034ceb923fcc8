import type { Actor } from '../store/audit.ts'
import type { BatchJournalRow } from '../store/batch-journals.ts'
import { permits, type Scope } from './access/scopes.ts'
import { scopeMissing } from './errors.ts'

export interface BatchCaller {
  readonly actor: Actor
  /** undefined: an admin token, which sees the batches of all teams. */
  readonly teamId: number | undefined
  readonly scopes: readonly Scope[]
}

/**
 * A journal is for those who may run batches: it names recipients, and owners.
 * @throws DomainError scope_missing
 */
export function assertMayRun({ scopes, teamId }: BatchCaller): void {
  const enough: readonly Scope[] = ['all', 'edit', teamId === undefined ? 'provision' : 'transfer']
  if (scopes.some((scope) => enough.includes(scope))) return
  throw scopeMissing('To run a batch, or to read its journal, takes more than the scope "read".')
}

const scopeOfKind = new Map<string, Scope>([
  ['phygitals transfer', 'transfer'],
  ['badge-events assign', 'transfer'],
  ['nfc provision', 'provision'],
])
/** Their rows may give chips power over tokens, if whoever runs them may. */
const bindsChips = new Set(['chips apply', 'chips apply undo', 'chips import'])

type Begun = Pick<BatchJournalRow, 'id' | 'kind' | 'startedBy'>

/**
 * Whoever resumes a batch runs what its journal says, with more rights perhaps than those of whoever wrote it.
 * @throws DomainError scope_missing
 */
export function assertMayWrite({ scopes, actor }: BatchCaller, { id, kind, startedBy }: Begun): void {
  const isOfOther = bindsChips.has(kind) && startedBy !== actor.name
  const wanted = scopeOfKind.get(kind) ?? (isOfOther ? 'transfer' : undefined)
  if (wanted === undefined || permits(scopes, wanted)) return
  const whose = isOfOther ? `, which ${startedBy} began,` : ''
  throw scopeMissing(`To run batch ${id} (${kind})${whose} takes the scope "${wanted}".`)
}
