import { type Db, engineOf } from '../database/database.ts'

/**
 * A clock compared with the database's, which all daemons on one share.
 * @returns milliseconds by which the clock is ahead, negative if it is behind, and how exact that is
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
