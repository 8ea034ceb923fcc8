import { BackgroundLoop } from '../../../values/background-loop.ts'
import { clampSpentDays } from '../../store/access/teams.ts'
import { pruneRefreshes } from '../../store/chain/announcements.ts'
import { pruneIdempotencyKeys } from '../../store/chain/idempotency-keys.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { Election } from '../../store/lease/leader-election.ts'
import { pruneLeases } from '../../store/lease/lease.ts'
import { pruneSpentCodes } from '../../store/taps/codes.ts'
import { forgetBatches } from '../batches/pieces.ts'
import { announceDeferred } from '../chain/announcements.ts'
import { dayOf } from '../chain/budget.ts'
import { forgetSheets } from '../nfc/sheet-runs.ts'
import { endReservationsInTime, pruneReservationsAndMails } from '../reservations/forget.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { deleteOld, makeTapMonths } from './retention.ts'

const everyMs = 3_600_000
const refreshesKeptMs = 7 * 24 * everyMs

/** Rows per write, kept small so that taps do not wait long. */
const batchSize = 500

type Deps = { db: Db; clock: BudgetClock & { uptime(): number } }

/**
 * Used signatures are kept forever, old taps are deleted by `deleteOld`, and refused taps are limited when they are
 * recorded. Idempotency keys expire by daemon uptime, so that a wrong clock cannot cause a request to run twice.
 */
export async function cleanUp({ db, clock }: Deps): Promise<void> {
  const inPieces = async (prune: (trx: Queries, limit: number) => Promise<number>): Promise<void> => {
    while ((await db.write((trx) => prune(trx, batchSize))) === batchSize) await new Promise(setImmediate)
  }
  await inPieces(pruneSpentCodes)
  await inPieces(pruneLeases)
  await inPieces((trx, limit) => pruneIdempotencyKeys(trx, iso(clock.uptime()), limit))
  await db.write((trx) => clampSpentDays(trx, dayOf(clock.confirmedTime())))
  await inPieces((trx, limit) => forgetBatches(trx, clock.now(), limit))
  await inPieces((trx, limit) => forgetSheets(trx, clock.now(), limit))
  await inPieces((trx, limit) => endReservationsInTime(trx, clock.now(), limit))
  await inPieces((trx, limit) => pruneReservationsAndMails(trx, clock.now(), limit))
  await inPieces((trx, limit) => pruneRefreshes(trx, iso(clock.now() - refreshesKeptMs), limit))
}

/** Runs every hour, on one of the daemons of a database. */
export function startCleanup(
  deps: Deps &
    Parameters<typeof announceDeferred>[0] &
    Parameters<typeof deleteOld>[0] & { election: Election },
  failed: (error: unknown) => void,
): BackgroundLoop {
  const { election } = deps
  const run = async () => {
    if (!(await election.check())) return
    const months = makeTapMonths(deps.db, deps.clock.now())
    await Promise.all([months, cleanUp(deps), deleteOld(deps), announceDeferred(deps)])
  }
  const loop = new BackgroundLoop({ run, restMs: () => everyMs, failed })
  election.onElected(() => loop.wake())
  loop.start()
  return loop
}
