import type { Db } from '../store/database.ts'
import { deleteOldTaps, hideEmails } from '../store/retention.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { hiddenEmail } from './badge-events/personal.ts'
import type { TapLog } from './taps/tap-log.ts'
import { type BudgetClock, iso } from './time.ts'
import { pruneDeliveries } from './webhooks/prune.ts'

const dayMs = 86_400_000
/** Rows per write, kept small so that taps do not wait long. */
const atOnce = 500

interface Deps {
  db: Db
  box: SecretBox
  tapLog: Pick<TapLog, 'removed'>
  clock: BudgetClock
  config: { keepTapsDays: number | 'off'; keepEmailsDays: number | 'off' }
}

/**
 * Deletes what is kept for a time only. Counters of chips, and hashes that "one badge per device" needs, are kept. A
 * jump of the clock counts only after a day.
 */
export async function deleteOld({ db, box, tapLog, clock, config }: Deps): Promise<void> {
  const before = (days: number) => iso(clock.settled() - days * dayMs)
  const { keepTapsDays, keepEmailsDays } = config
  while (keepTapsDays !== 'off') {
    const deleted = await db.write((trx) => deleteOldTaps(trx, before(keepTapsDays), atOnce))
    tapLog.removed(deleted.refused)
    if (deleted.taps < atOnce) break
    await new Promise(setImmediate)
  }
  while (keepEmailsDays !== 'off') {
    const of = { before: before(keepEmailsDays), hidden: hiddenEmail(box), limit: atOnce }
    if ((await db.write((trx) => hideEmails(trx, of))) < atOnce) break
    await new Promise(setImmediate)
  }
  await pruneDeliveries({ db, clock, config })
}
