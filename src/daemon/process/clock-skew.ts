import type { Logger } from 'pino'
import { type Db, isShared } from '../store/database/database.ts'
import { aheadOfDatabase } from '../store/time/database-clock.ts'

const toleratedMs = 1000

/** Warns if this machine's clock and the one of a database that daemons share differ: they disagree about dates. */
export async function warnOfSkew({
  db,
  clock,
  log,
}: {
  db: Db
  clock: { now(): number }
  log: Pick<Logger, 'warn'>
}): Promise<void> {
  if (!isShared(db)) return
  const { aheadMs, withinMs } = await aheadOfDatabase(db, clock)
  if (Math.abs(aheadMs) <= toleratedMs + withinMs) return
  const by = `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`
  const [made, read] = aheadMs > 0 ? ['late', 'early'] : ['early', 'late']
  log.warn(
    { aheadMs },
    `This machine's clock is ${by} the database's. Codes and keys expire by the clock of the daemon that gets them: those made here expire that much too ${made} at other daemons, and those of others that much too ${read} here. Keep all clocks in step, for example with chrony.`,
  )
}
