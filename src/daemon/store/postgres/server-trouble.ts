import { DatabaseUnavailable, type ServerTrouble } from '../database/database.ts'
import { assertWritable } from './connection.ts'
import type { Pool } from './pool.ts'
import type { PooledConnection } from './pooled-connection.ts'
import { troubleOf } from './trouble.ts'

/** @returns why the server takes no writes over a connection that taps would use now; undefined: it does */
export async function serverTrouble(pool: Pool, withinMs: number): Promise<ServerTrouble | undefined> {
  const until = performance.now() + withinMs
  let lent: PooledConnection | undefined
  try {
    lent = await pool.connect('control', withinMs)
    await assertWritable(lent, Math.max(1, until - performance.now()))
    lent.release()
    return undefined
  } catch (error) {
    lent?.release(new DatabaseUnavailable(error))
    return troubleOf(error, pool.url)
  }
}
