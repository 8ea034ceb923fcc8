import { parseScopes, permits, type Scope } from '../../../values/scopes.ts'
import type { AnswerOf } from '../../api.ts'
import { currentSession, may } from '../../session.ts'
import { kindFacts } from './kind-facts.ts'

export type Batch = AnswerOf<'GET /admin/batches/:id'>

const holds = (scope: Scope): boolean =>
  permits(parseScopes(JSON.stringify(currentSession().who?.scopes ?? [])), scope)

/** Its rows may be read, and it may be acted on. A kind of a newer daemon takes a key for everything. */
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

/** Those that state and credential allow, in the order of their buttons. */
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
