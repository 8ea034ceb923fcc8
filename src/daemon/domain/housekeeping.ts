import type { Db } from '../store/database.ts'
import { pruneRefreshes } from '../store/marketplace-refreshes.ts'
import { deletePageVisits } from '../store/page-visits.ts'
import { pruneRefusedTaps } from '../store/sqlite-taps.ts'
import { pruneIdempotencyKeys } from '../store/transactions.ts'
import { pruneUsedSignatures } from '../store/used-signatures.ts'
import { type Clock, iso } from './time.ts'

// Anybody can have a tap refused, over and over: the newest are worth keeping, and not the disk.
const refusedKept = 200_000
const everyMs = 3_600_000
const refreshesKeptMs = 7 * 24 * everyMs

type Deps = { db: Db; clock: Clock }

/** Removes what is of no use any more. Valid taps, refs and codes stay for ever: they are the record. */
export async function tidy({ db, clock }: Deps, keep = refusedKept): Promise<void> {
  await db.write(async (trx) => {
    const now = iso(clock.now())
    await deletePageVisits(trx, now)
    await pruneIdempotencyKeys(trx, now)
    await pruneUsedSignatures(trx, now)
    await pruneRefreshes(trx, iso(clock.now() - refreshesKeptMs))
    await pruneRefusedTaps(trx, keep)
  })
}

/** Tidies now and every hour. @returns a function that ends it */
export function keepTidy(deps: Deps, onProblem: (error: unknown) => void): () => void {
  const run = () => void tidy(deps).catch(onProblem)
  run()
  const timer = setInterval(run, everyMs).unref()
  return () => clearInterval(timer)
}
