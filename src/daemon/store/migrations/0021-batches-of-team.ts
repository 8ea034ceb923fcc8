import type { Kysely } from 'kysely'

/** Finds the batches of one team, which are counted with each piece of a journal. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('batchesOfTeam').on('batches').columns(['teamId', 'id']).execute()
}
