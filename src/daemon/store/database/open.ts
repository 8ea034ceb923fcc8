import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, type Migration, Migrator } from 'kysely'
import { recordChange } from '../audit/audit.ts'
import { type AuditHead, type AuditSeal, sealAuditWith } from '../audit/audit-head.ts'
import { assertDataKey } from '../data-dir/data-key.ts'
import { initialSchema, migrations } from '../migrations/index.ts'
import { connectToMigrate, postgresMigrations } from '../postgres/migrator.ts'
import { isConflict, nameOfDatabase } from '../postgres/servers.ts'
import type { Database } from '../schema/schema.ts'
import { openSqlite } from '../sqlite/connection.ts'
import { copyDatabase } from '../sqlite/reader-process.ts'
import { engineOf } from './database.ts'
import { setting } from './settings.ts'

export { awaitServer, ServerProblem } from '../postgres/await-server.ts'
export { openPostgres } from '../postgres/database.ts'
export { nameOfDatabase } from '../postgres/servers.ts'
export { openDatabase } from '../sqlite/database.ts'

export class SchemaTooNew extends Error {
  override readonly name = 'SchemaTooNew'
}

/** The schema is older than the first remaining migration. */
export class SchemaTooOld extends Error {
  override readonly name = 'SchemaTooOld'
  /** @param what the database's name, for people @param way how to get to a version that can still read it */
  constructor(what: string, schema: string, way = 'Start that version on it again') {
    super(
      `${what} was made by an earlier version of Tapchip: it has the schema ${schema}, and this version reads none before ${initialSchema}. ` +
        `Nothing was changed. ${way}, write its chips to files with tapchip chips export, and import these into a daemon ` +
        'of this version that begins with nothing. docs/daemon.md says how, and what cannot be taken over.',
    )
    this.schema = schema
  }
  /** Its last migration. */
  readonly schema: string
}

export const latestSchema = (): string => latestOf(migrations)

const latestOf = (known: Record<string, Migration>): string => Object.keys(known).sort().at(-1) ?? ''

/** Copies the database while it is open elsewhere. @param to must not exist yet */
export type CopyTo = (to: string) => Promise<void>

interface Upgrade {
  /** The last migration that the database has. */
  readonly from: string
  readonly to: string
}

/**
 * @param seal of the audit log; afterwards knows how the log continues
 * @param before called first if the schema is older, so that a copy can be made
 * @returns undefined if the database is new, or has the latest schema already
 * @throws without changes: SchemaTooNew if a newer program made the schema, SchemaTooOld, DataKeyProblem,
 * MigrationFailed
 */
export async function migrate(
  file: string,
  seal?: AuditSeal,
  before: (upgrade: Upgrade, copyTo: CopyTo) => Promise<void> = async () => undefined,
): Promise<Upgrade | undefined> {
  const { kysely, connection } = openSqlite(file, { readonly: false, mayWait: true })
  if (seal) sealAuditWith(kysely, seal)
  try {
    const from = (await appliedTo(kysely, file)).at(-1)
    const latest = latestSchema()
    if (from === latest) return undefined
    // Before anything is sealed with the key.
    const sealed = seal && from !== undefined ? await setting(kysely, 'dataKeyCheck') : undefined
    if (seal && sealed !== undefined) assertDataKey(seal.box, sealed, dirname(file))
    const upgrade = from === undefined ? undefined : { from, to: latest }
    if (upgrade) await before(upgrade, (to) => copyDatabase(file, to))
    await migrateToLatest(kysely, migrations, file, { upgrade, seal })
    return upgrade
  } finally {
    if (connection.open) await kysely.destroy()
  }
}

/** A database in memory, created like any other. */
export async function migrateEmpty(): Promise<Kysely<Database>> {
  const { kysely } = openSqlite(':memory:', { readonly: false })
  await migrateToLatest(kysely, migrations, 'in memory')
  return kysely
}

/** An upgrade is an entry of the audit log, in the same write. */
function recorded(
  known: Record<string, Migration>,
  upgrade: Upgrade | undefined,
  note: (head: AuditHead) => void,
): Record<string, Migration> {
  const last = latestOf(known)
  const migration = known[last]
  if (!migration || !upgrade) return known
  const { from, to } = upgrade
  const up = async (db: Kysely<Database>) => {
    await migration.up(db)
    note(
      await recordChange(db, {
        at: new Date().toISOString(),
        actor: { name: 'daemon', requestId: null },
        teamId: null,
        action: 'daemon.migrate',
        target: to,
        detail: { from },
      }),
    )
  }
  return { ...known, [last]: { up } }
}

interface MigrationOptions {
  upgrade?: Upgrade | undefined
  seal?: AuditSeal | undefined
}

/** @param name of the database, for people @throws MigrationFailed */
async function migrateToLatest(
  db: Kysely<Database>,
  known: Record<string, Migration>,
  name: string,
  { upgrade, seal }: MigrationOptions = {},
): Promise<void> {
  let head: AuditHead | undefined
  const recording = recorded(known, upgrade, (made) => {
    head = made
  })
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => recording },
  }).migrateToLatest()
  if (error) throw new MigrationFailed(name, error)
  // A trigger may have removed the entry again: the start checks that the log continues from it.
  if (seal) seal.newest = head
}

/**
 * Like `migrate`. Daemons that start at the same time wait for the first.
 * @throws without changes: SchemaTooNew, SchemaTooOld, DataKeyProblem, MigrationFailed
 */
export async function migratePostgres(
  url: string,
  seal?: AuditSeal,
  before: (upgrade: Upgrade) => Promise<void> = async () => undefined,
): Promise<Upgrade | undefined> {
  const { kysely, close } = await connectToMigrate(url)
  const name = nameOfDatabase(url)
  if (seal) sealAuditWith(kysely, seal)
  try {
    const latest = latestOf(postgresMigrations)
    const from = (await appliedTo(kysely, name, postgresMigrations, besideNewer)).at(-1)
    if (from === latest) return undefined
    const sealed = seal && from !== undefined ? await setting(kysely, 'dataKeyCheck') : undefined
    if (seal && sealed !== undefined) assertDataKey(seal.box, sealed, name)
    const upgrade = from === undefined ? undefined : { from, to: latest }
    if (upgrade) await before(upgrade)
    await migrateWhileServed(kysely, postgresMigrations, name, { upgrade, seal })
    return upgrade
  } finally {
    await close()
  }
}

const giveWayMs = 400
/** Another program holds a table, for example a dump; then a person has to decide. */
const patienceMs = 600_000

/** Yields to daemons of the previous version, and tries again. @throws MigrationFailed */
async function migrateWhileServed(
  db: Kysely<Database>,
  known: Record<string, Migration>,
  name: string,
  recording: MigrationOptions,
): Promise<void> {
  const until = performance.now() + patienceMs
  for (;;) {
    try {
      return await migrateToLatest(db, known, name, recording)
    } catch (error) {
      const mayPass = error instanceof MigrationFailed && isConflict(error.cause)
      if (!mayPass || performance.now() > until) throw error
      await delay(giveWayMs * Math.random())
    }
  }
}

export class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
  constructor(file: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(`The database ${file} could not be migrated to ${latestSchema()} (${why})`, { cause })
  }
}

const besideNewer =
  'A daemon of a newer version has migrated it: start that version here too. Running daemons of this version continue until they stop.'

/**
 * @returns undefined if the database has this program's schema, else a description @throws SchemaTooNew, SchemaTooOld
 */
export async function otherSchema(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const known = engineOf(db).name === 'postgres' ? postgresMigrations : migrations
  const applied = await appliedTo(db, name, known)
  if (applied.length === Object.keys(known).length) return undefined
  return applied.at(-1) ?? 'no schema'
}

/** @returns the names of its migrations, in order @throws SchemaTooNew, SchemaTooOld */
async function appliedTo(
  db: Kysely<Database>,
  file: string,
  known: Record<string, Migration> = migrations,
  advice = 'Start the newer version again, or restore a backup from before the upgrade.',
): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true })
  if (!tables.some((table) => table.name === 'kysely_migration')) return []
  const applied = await db
    .withTables<{ kysely_migration: { name: string } }>()
    .selectFrom('kysely_migration')
    .select('name')
    .orderBy('name')
    .execute()
  const names = applied.map(({ name }) => name)
  const unknown = names.filter((name) => !Object.hasOwn(known, name))
  if (unknown.length === 0) return names
  if (unknown.some((name) => name < initialSchema))
    throw new SchemaTooOld(`The database ${file}`, names.at(-1) ?? '')
  throw new SchemaTooNew(
    `The database ${file} has the schema ${unknown.at(-1)}, which is newer than this tapchipd knows (${latestOf(known)}). ${advice}`,
  )
}
