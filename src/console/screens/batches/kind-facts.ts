import type { Scope } from '../../../values/scopes.ts'

interface KindFacts {
  /** The scope that the daemon asks for to pause, resume, cancel or undo a batch of the kind, or to read its rows. */
  readonly scope: Scope
  /** It cannot be undone. */
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
