import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { type Db, engineOf } from '../../store/database/database.ts'
import { deleteOldTaps, dropTapMonth, hideEmails } from '../../store/operations/retention.ts'
import { farFuture } from '../../store/time/clock-set-back.ts'
import { hiddenEmail } from '../badge-events/recipient.ts'
import type { TapLog } from '../taps/tap-log.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { pruneDeliveries } from '../webhooks/prune.ts'

const dayMs = 86_400_000
/** Rows per write, kept small so that taps do not wait long. */
const batchSize = 500

interface Deps {
  db: Db
  box: SecretBox
  tapLog: Pick<TapLog, 'removed'>
  clock: BudgetClock
  config: {
    keepTapsDays: number | 'off'
    keepEmailsDays: number | 'off'
    refLifetimeMs: number
    otpLifetimeMs: number
  }
}

/**
 * Deletes data whose retention time is over. Counters of chips, and hashes that "one badge per device" needs, are
 * kept. A jump of the clock counts only after a day.
 */
export async function deleteOld({ db, box, tapLog, clock, config }: Deps): Promise<void> {
  const before = (ms: number) => iso(clock.confirmedTime() - ms)
  const { keepTapsDays, keepEmailsDays, refLifetimeMs, otpLifetimeMs } = config
  // Refs and codes are deleted with their tap.
  const tapsMs = (days: number) => Math.max(days * dayMs, refLifetimeMs + otpLifetimeMs)
  const oldTaps =
    keepTapsDays === 'off' ? undefined : await dropMonths({ db, tapLog }, before(tapsMs(keepTapsDays)))
  while (oldTaps !== undefined) {
    const deleted = await db.write((trx) => deleteOldTaps(trx, oldTaps, batchSize))
    tapLog.removed(deleted.refused)
    if (deleted.taps < batchSize) break
    await new Promise(setImmediate)
  }
  while (keepEmailsDays !== 'off') {
    const of = { before: before(keepEmailsDays * dayMs), hidden: hiddenEmail(box), limit: batchSize }
    if ((await db.write((trx) => hideEmails(trx, of))) < batchSize) break
    await new Promise(setImmediate)
  }
  await pruneDeliveries({ db, clock, config })
}

const monthOf = (at: string): string => at.slice(0, 7)

/**
 * If taps are partitioned by month, months with only old taps are dropped as a whole.
 * @param before ISO 8601
 * @returns the time before which taps are deleted row by row; excludes months that will be dropped as a whole
 */
async function dropMonths({ db, tapLog }: Pick<Deps, 'db' | 'tapLog'>, before: string): Promise<string> {
  const { tapMonths } = engineOf(db.slow)
  if (!tapMonths) return before
  const ends = monthOf(before)
  for (const month of await tapMonths.before(db.slow, ends)) {
    tapLog.removed((await db.write((trx) => dropTapMonth(trx, month))).refused)
  }
  return (await tapMonths.before(db.slow, farFuture)).includes(ends) ? ends : before
}

/** This month and the next two, in case the daemon is off for weeks. */
export async function makeTapMonths(db: Db, now: number): Promise<void> {
  const { tapMonths } = engineOf(db.read)
  if (!tapMonths) return
  const known = await tapMonths.before(db.read, farFuture)
  const today = new Date(now)
  for (const ahead of [0, 1, 2]) {
    const first = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + ahead, 1))
    const month = monthOf(first.toISOString())
    if (!known.includes(month)) await db.write((trx) => tapMonths.make(trx, month))
  }
}
