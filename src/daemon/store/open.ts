import { dirname } from 'node:path'
import { type Kysely, Migrator } from 'kysely'
import { sealAuditWith } from './audit-head.ts'
import { assertDataKey } from './data-key.ts'
import { migrations } from './migrations/index.ts'
import type { Database } from './schema.ts'
import type { SecretBox } from './secret-box.ts'
import { setting } from './settings.ts'
import { openSqlite } from './sqlite/connection.ts'
import { copyDatabase } from './sqlite/reader-process.ts'

export { openDatabase } from './sqlite/database.ts'

export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew'
}

export const latestSchema = Object.keys(migrations).sort().at(-1) ?? ''

/** Copies the database while it is open elsewhere. @param to must not exist */
export type CopyTo = (to: string) => Promise<void>

interface Upgrade {
  /** The last migration that the database has. */
  readonly from: string
  readonly to: string
}

/**
 * @param box seals the audit log
 * @param before is called first if the database has an older schema, so that its state can be kept
 * @returns undefined if the database is new, or has the latest schema already
 * @throws without changes: SchemaTooNew if a newer program made the schema, DataKeyProblem, MigrationFailed
 */
export async function migrate(
  file: string,
  box?: SecretBox,
  before: (upgrade: Upgrade, copyTo: CopyTo) => Promise<void> = async () => undefined,
): Promise<Upgrade | undefined> {
  const { kysely, connection } = openSqlite(file, { readonly: false, mayWait: true })
  if (box) sealAuditWith(kysely, box)
  try {
    const from = (await appliedTo(kysely, file)).at(-1)
    if (from === latestSchema) return undefined
    // Before anything is sealed with it.
    const sealed = box && from !== undefined ? await setting(kysely, 'dataKeyCheck') : undefined
    if (box && sealed !== undefined) assertDataKey(box, sealed, dirname(file))
    const upgrade = from === undefined ? undefined : { from, to: latestSchema }
    if (upgrade) await before(upgrade, (to) => copyDatabase(file, to))
    const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => migrations } })
    const { error } = await migrator.migrateToLatest()
    if (error) throw new MigrationFailed(file, error)
    return upgrade
  } finally {
    if (connection.open) await kysely.destroy()
  }
}

export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
  constructor(file: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`The database ${file} could not be migrated to ${latestSchema} (${why})`, { cause })
  }
}

/** @returns the names of its migrations, in order @throws SchemaTooNew */
async function appliedTo(db: Kysely<Database>, file: string): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return []
  const applied = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .orderBy('name')
    .execute()
  const names = applied.map(({ name }) => name)
  const unknown = names.filter((name) => !Object.hasOwn(migrations, name))
  if (unknown.length === 0) return names
  throw new SchemaTooNew(
    `The database ${file} has the schema ${unknown.at(-1)}, which is newer than this tapchipd knows (${latestSchema}). ` +
      'Start the newer version again, or restore a backup from before the upgrade.',
  )
}
