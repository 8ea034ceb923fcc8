import { type Kysely, Migrator } from 'kysely'
import { migrations } from './migrations/index.ts'
import type { Database } from './schema.ts'
import { openSqlite } from './sqlite/connection.ts'

export { openDatabase } from './sqlite/database.ts'

export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew'
}

export const latestSchema = Object.keys(migrations).sort().at(-1) ?? ''

/** @throws SchemaTooNew, without changes, if a newer program made the schema */
export async function migrate(file: string): Promise<void> {
  const { kysely, connection } = openSqlite(file, { readonly: false, mayWait: true })
  try {
    await refuseNewer(kysely, file)
    const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => migrations } })
    const { error } = await migrator.migrateToLatest()
    if (error)
      throw new Error(`The database ${file} could not be migrated to ${latestSchema}`, { cause: error })
  } finally {
    if (connection.open) await kysely.destroy()
  }
}

async function refuseNewer(db: Kysely<Database>, file: string): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return
  const applied = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .orderBy('name')
    .execute()
  const unknown = applied.filter(({ name }) => !Object.hasOwn(migrations, name))
  if (unknown.length === 0) return
  throw new SchemaTooNew(
    `The database ${file} has the schema ${unknown.at(-1)?.name}, which is newer than this tapchipd knows (${latestSchema}). ` +
      'Start the newer version again, or restore a backup from before the upgrade.',
  )
}
