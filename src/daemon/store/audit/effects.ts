import { isOutcomeUnknown } from '../data-dir/disk.ts'
import type { Db, Queries } from '../database/database.ts'

/** Changes that a request has certainly committed. */
export interface Effects {
  isWritten: boolean
  /** The last transaction that it recorded. */
  transactionId: number | undefined
}

/** The actor of a request: see audit.ts. */
type Actor = object

interface WriteNotes {
  readonly actors: Set<Actor>
  transactionId: number | undefined
  whenCommitted: () => void
}

// Kept separately from the arguments of every write: the audit entry already contains the actor.
const writes = new WeakMap<Queries, WriteNotes>()
const effects = new WeakMap<Actor, Effects>()
/** For writes whose outcome is unknown: the transaction they recorded, if they were committed. */
const transactions = new WeakMap<object, number>()

/** @param actor created for this request only */
export function effectsOf(actor: Actor): Effects {
  const known = effects.get(actor) ?? { isWritten: false, transactionId: undefined }
  effects.set(actor, known)
  return known
}

/** Part of a write: once it is committed, it counts as an effect of the actor's request. */
export function noteActor(trx: Queries, actor: Actor): void {
  writes.get(trx)?.actors.add(actor)
}

/** Part of a write: the last of these is called once it is committed. */
export function whenCommitted(trx: Queries, run: () => void): void {
  const notes = writes.get(trx)
  if (notes) notes.whenCommitted = run
}

/** Part of a write that records a transaction. */
export function noteTransaction(trx: Queries, id: number): void {
  const notes = writes.get(trx)
  if (notes) notes.transactionId = id
}

/** The transaction that a write recorded, if the write succeeded although its answer was lost. */
export const transactionOf = (error: unknown): number | undefined =>
  error instanceof Error ? transactions.get(error) : undefined

/** Collects what each write notes, and counts it after the commit. */
export function withEffects(db: Db): Db {
  return {
    ...db,
    write: async (job) => {
      let notes: WriteNotes | undefined
      try {
        const value = await db.write((trx) => {
          // Reset for each run of the job. Jobs that share a connection run one after another.
          notes = { actors: new Set(), transactionId: undefined, whenCommitted: () => undefined }
          writes.set(trx, notes)
          return job(trx)
        })
        if (notes) count(notes)
        return value
      } catch (error) {
        if (notes?.transactionId !== undefined && error instanceof Error && isOutcomeUnknown(error))
          transactions.set(error, notes.transactionId)
        throw error
      }
    },
  }
}

function count({ actors, transactionId, whenCommitted }: WriteNotes): void {
  whenCommitted()
  for (const actor of actors) {
    const known = effectsOf(actor)
    known.isWritten = true
    known.transactionId = transactionId ?? known.transactionId
  }
}
