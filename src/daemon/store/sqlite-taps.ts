import { sql } from 'kysely'
import type { Queries } from './database.ts'

/**
 * Deletes the oldest refused taps beyond the newest `keep`. Valid ones stay.
 * The condition stands literally in the text: only so does SQLite use the index on refused taps alone.
 */
export async function pruneRefusedTaps(db: Queries, keep: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from taps where outcome != 'valid' and id <= (
      select id from taps where outcome != 'valid' order by id desc limit 1 offset ${keep}
    )
  `.execute(db)
  return Number(numAffectedRows ?? 0n)
}
