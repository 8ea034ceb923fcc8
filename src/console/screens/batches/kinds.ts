import { parseScopes, permits, type Scope } from '../../../values/scopes.ts'
import type { AnswerOf } from '../../api.ts'
import { currentSession, may } from '../../session.ts'

export type Batch = AnswerOf<'GET /admin/batches/:id'>

interface KindFacts {
  /** What the daemon asks for to pause, resume, cancel or undo a batch of the kind, or to read its rows. */
  readonly scope: Scope
  /** What it did cannot be undone. */
  readonly isFinal?: true
}

/** By the command that creates such batches. */
export const kindFacts: Readonly<Record<string, KindFacts>> = {
  'badge-events assign': { scope: 'transfer' },
  'badge-events create': { scope: 'edit', isFinal: true },
  'badge-events unassign': { scope: 'transfer' },
  'chips apply': { scope: 'edit' },
  'chips disable': { scope: 'edit' },
  'chips edit': { scope: 'edit' },
  'chips enable': { scope: 'edit' },
  'chips import': { scope: 'edit' },
  'chips import undo': { scope: 'edit', isFinal: true },
  'chips link': { scope: 'edit' },
  'chips move': { scope: 'edit' },
  'chips remove': { scope: 'edit', isFinal: true },
  'chips rename': { scope: 'edit' },
  'chips replace': { scope: 'edit' },
  'chips unlink': { scope: 'edit' },
  'guestbook assign': { scope: 'transfer' },
  'guestbook mint': { scope: 'transfer', isFinal: true },
  'guestbook unassign': { scope: 'transfer' },
  'items apply': { scope: 'edit' },
  'items edit': { scope: 'edit' },
  'phygitals metadata': { scope: 'edit' },
  'phygitals transfer': { scope: 'transfer', isFinal: true },
  'phygitals undo': { scope: 'edit' },
}

const holds = (scope: Scope): boolean =>
  permits(parseScopes(JSON.stringify(currentSession().who?.scopes ?? [])), scope)

/** Whether the credential may read its rows, and act on it. A kind of a newer daemon takes a key for everything. */
export const mayTouch = ({ kind }: Pick<Batch, 'kind'>): boolean => holds(kindFacts[kind]?.scope ?? 'all')

/** Proposed under the credential's own name: somebody else has to approve it. */
export const isOwn = ({ startedBy }: Pick<Batch, 'startedBy'>): boolean =>
  startedBy === currentSession().who?.name

export type BatchAct = 'pause' | 'resume' | 'approve' | 'cancel' | 'undo'
type State = Batch['state']

const from: Readonly<Record<BatchAct, readonly State[]>> = {
  pause: ['running'],
  resume: ['paused', 'failed'],
  approve: ['proposed'],
  cancel: ['uploading', 'planned', 'proposed', 'scheduled', 'paused', 'failed'],
  undo: ['done', 'paused', 'failed', 'cancelled'],
}

/** Every row has a result, but some may succeed at another try. */
export const hasFailedRows = ({ state, failed, conflict }: Batch): boolean =>
  state === 'done' && failed + conflict > 0

/** What state and credential allow, in the order of their buttons. */
export function actsFor(batch: Batch): readonly BatchAct[] {
  const { state, kind, changed } = batch
  const isPossible: Readonly<Record<BatchAct, boolean>> = {
    pause: mayTouch(batch),
    resume: mayTouch(batch),
    approve: holds('approve') && !isOwn(batch),
    cancel: mayTouch(batch),
    undo: mayTouch(batch) && changed > 0 && kindFacts[kind]?.isFinal !== true,
  }
  const all = ['approve', 'pause', 'resume', 'cancel', 'undo'] as const
  return all.filter(
    (name) =>
      isPossible[name] &&
      may(`POST /admin/batches/:id/${name}`) &&
      (from[name].includes(state) || (name === 'resume' && hasFailedRows(batch))),
  )
}
