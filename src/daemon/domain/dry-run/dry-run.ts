import { AsyncLocalStorage } from 'node:async_hooks'
import type { Db, Queries } from '../../store/database/database.ts'

class RolledBack extends Error {}

/** Runs a write, rolls it back, and returns its result. @throws errors of the write */
export async function withRollback<T>(
  { write }: Pick<Db, 'write'>,
  job: (trx: Queries) => Promise<T>,
): Promise<T> {
  let result: { value: T } | undefined
  try {
    await write(async (trx) => {
      result = { value: await job(trx) }
      throw new RolledBack()
    })
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error
  }
  if (!result) throw new Error('A write that was to be rolled back has no result')
  return result.value
}

/** Ends a dry run: all checks passed, and what comes next would change something. */
export class DryRunPassed extends Error {
  override readonly name = 'DryRunPassed'
}

const dryRuns = new AsyncLocalStorage<true>()
let running = 0

/** Call it before anything that a rollback cannot undo. @throws DryRunPassed during a dry run */
export function endDryRun(): void {
  if (dryRuns.getStore()) throw new DryRunPassed()
}

/**
 * Runs work up to its first write, which is rolled back. What the work writes besides the database must call
 * `endDryRun` first.
 * @throws what the work throws
 */
export async function dryRun(work: () => Promise<unknown>): Promise<void> {
  running += 1
  try {
    await dryRuns.run(true, work)
  } catch (error) {
    if (!(error instanceof DryRunPassed)) throw error
  } finally {
    running -= 1
    // While async storage is in use, Node tracks every promise, which adds a fifth to the time of a tap.
    if (running === 0) dryRuns.disable()
  }
}

/** A database whose writes are rolled back during a dry run. */
export function withDryRuns(db: Db): Db {
  return {
    ...db,
    write: async (job) => {
      if (!dryRuns.getStore()) return db.write(job)
      await withRollback(db, job)
      throw new DryRunPassed()
    },
    takeTap: async (tap) => {
      endDryRun()
      return db.takeTap(tap)
    },
  }
}
