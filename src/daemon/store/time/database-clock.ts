import { type Db, engineOf } from '../database/database.ts'

/**
 * Compares a clock with the database's, which its daemons share.
 * @returns how far the clock is ahead in milliseconds, negative if behind, and the precision
 */
export async function aheadOfDatabase(
  db: Db,
  clock: { now(): number },
): Promise<{ aheadMs: number; withinMs: number }> {
  const before = clock.now()
  const began = performance.now()
  const { now } = await db.read.selectNoFrom(engineOf(db.read).now.as('now')).executeTakeFirstOrThrow()
  const withinMs = (performance.now() - began) / 2
  return { aheadMs: Math.round(before + withinMs - now), withinMs }
}
