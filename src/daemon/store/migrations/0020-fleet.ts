import type { Kysely } from 'kysely'
import { required, strictClustered } from './columns.ts'
import { fleetMemory } from './fleet-memory.ts'

/** What several daemons on one database share beyond what one of them keeps. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await leases(db)
  await heldClaims(db)
  await imagesInTheDatabase(db)
  await fleetMemory(db)
}

async function imagesInTheDatabase(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('badgeImages').addColumn('data', 'blob').execute()
}

/** Who does what only one daemon may do. The senders' own columns for that are not used any more. */
async function leases(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('leases')
    .addColumn('name', 'text', (c) => c.primaryKey())
    .$call(required('text', 'holder'))
    .$call(required('integer', 'fence beat'))
    .modifyEnd(strictClustered)
    .execute()
}

/** One daemon at a time asks a provider about a claim. */
async function heldClaims(db: Kysely<unknown>): Promise<void> {
  for (const column of ['heldBy', 'heldUntil'])
    await db.schema.alterTable('badgeClaims').addColumn(column, 'text').execute()
}
