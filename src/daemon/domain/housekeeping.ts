import type { Db, Queries } from '../store/database.ts'
import { pruneRefreshes } from '../store/marketplace-refreshes.ts'
import { prunePageVisits } from '../store/page-visits.ts'
import { pruneIdempotencyKeys } from '../store/transactions.ts'
import { pruneUsedSignatures } from '../store/used-signatures.ts'
import { announceDeferred } from './announcements.ts'
import { type Clock, iso } from './time.ts'

const everyMs = 3_600_000
const refreshesKeptMs = 7 * 24 * everyMs
/** Rows in a write: taps wait for no more than that. */
const atOnce = 500

type Deps = { db: Db; clock: Clock }

/**
 * Removes what is of no use any more. Valid taps, refs and codes stay for ever: they are the record. Refused taps are
 * bounded where they are recorded.
 */
export async function tidy({ db, clock }: Deps): Promise<void> {
  const now = iso(clock.now())
  const inPieces = async (prune: (trx: Queries, limit: number) => Promise<number>): Promise<void> => {
    while ((await db.write((trx) => prune(trx, atOnce))) === atOnce) await new Promise(setImmediate)
  }
  await inPieces((trx, limit) => prunePageVisits(trx, now, limit))
  await inPieces((trx, limit) => pruneIdempotencyKeys(trx, now, limit))
  await inPieces((trx, limit) => pruneUsedSignatures(trx, now, limit))
  await inPieces((trx, limit) => pruneRefreshes(trx, iso(clock.now() - refreshesKeptMs), limit))
}

/** Tidies now and every hour. @returns a function that ends it */
export function keepTidy(
  deps: Deps & Parameters<typeof announceDeferred>[0],
  onProblem: (error: unknown) => void,
): () => void {
  const run = () => void Promise.all([tidy(deps), announceDeferred(deps)]).catch(onProblem)
  run()
  const timer = setInterval(run, everyMs).unref()
  return () => clearInterval(timer)
}
