import { sql } from 'kysely'
import type { Queries } from './database.ts'

// The condition stands literally in each text: only so does SQLite use the index on refused taps alone.

export async function countRefusedTaps(db: Queries): Promise<number> {
  const { rows } = await sql<{
    taps: number
  }>`select count(*) as taps from taps where outcome != 'valid'`.execute(db)
  return Number(rows[0]?.taps ?? 0)
}

/** Deletes the oldest refused taps. Valid ones stay. @returns how many it deleted */
export async function deleteOldestRefusedTaps(db: Queries, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from taps where id in (select id from taps where outcome != 'valid' order by id limit ${limit})
  `.execute(db)
  // For who counts taps by their ids.
  await sql`
    update settings set value = cast(cast(value as integer) + ${Number(numAffectedRows ?? 0n)} as text)
    where key = 'tapsDeleted'
  `.execute(db)
  return Number(numAffectedRows ?? 0n)
}
