import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { closeToOthers, databaseFile, lockDataDir } from '../data-dir/data-dir.ts'
import type { Db } from '../database/database.ts'
import {
  awaitServer,
  migrate,
  migrateEmpty,
  migratePostgres,
  openDatabase,
  openPostgres,
  otherSchema,
} from '../database/open.ts'
import { daemonConnections, postgresCopying } from '../postgres/copying.ts'
import { nameOfDatabase } from '../postgres/servers.ts'
import { layoutOf, sqliteCopying } from '../sqlite/copying.ts'
import { assertUnused } from './copy-store.ts'
import { CopyProblem, countRows, type Side, type Table } from './side.ts'

/** A data directory, or the URL of a database on a server. */
export type Place = { readonly dataDir: string } | { readonly url: string }

/**
 * Opens a side and locks its data directory. @throws CopyProblem, SchemaTooNew, SchemaTooOld, DataDirInUse,
 * DatabaseUnavailable
 */
export async function openSource(place: Place): Promise<Side> {
  if ('dataDir' in place && !existsSync(join(place.dataDir, databaseFile)))
    throw new CopyProblem(
      `${place.dataDir} has no database. Give the data directory of a stopped daemon: --data-dir DIR, or --from URL.`,
    )
  if ('url' in place) await reach(place.url, '--from')
  const side = await openSide(place)
  try {
    // Checked before anything is created at the target, where a daemon could start with an empty database.
    await assertUnused(side)
    const schema = await otherSchema(side.reader, side.name)
    if (schema !== undefined)
      throw new CopyProblem(
        `${side.name} has the schema ${schema} of another version. Start a daemon of this version on it once, stop it, then run this again.`,
      )
    return side
  } catch (error) {
    await side.close()
    throw error
  }
}

/**
 * Opens the target and creates its schema.
 * @throws CopyProblem, SchemaTooNew, SchemaTooOld, DataDirInUse, MigrationFailed, DatabaseUnavailable
 */
export async function openTarget(place: Place): Promise<Side> {
  if ('url' in place) {
    await reach(place.url, '--to')
    await migratePostgres(place.url)
  } else {
    mkdirSync(place.dataDir, { recursive: true, mode: 0o700 })
    closeToOthers(place.dataDir)
  }
  return openSide(place, true)
}

const serverMs = 10_000

/** @param setting name of the setting that contained the URL */
const reach = (url: string, setting: string): Promise<void> =>
  awaitServer(url, { patienceMs: serverMs, waiting: () => undefined, setting })

async function openSide(place: Place, isTarget = false): Promise<Side> {
  if ('url' in place) {
    const db = await openPostgres(named(place.url), undefined, undefined, { isBulk: true })
    const users = () => daemonConnections(db.read)
    return {
      ...{ db, users, reader: db.slow, copying: postgresCopying, name: nameOfDatabase(place.url) },
      close: () => db.close(),
    }
  }
  const unlock = await lockDataDir(place.dataDir)
  let db: Db
  try {
    const file = join(place.dataDir, databaseFile)
    if (isTarget) await migrate(file)
    db = openDatabase(file)
  } catch (error) {
    unlock()
    throw error
  }
  return {
    ...{ db, reader: db.read, copying: sqliteCopying, name: place.dataDir },
    users: async () => 0,
    close: async () => {
      await db.close()
      unlock()
    },
  }
}

/** @throws CopyProblem if a daemon uses the database; ServerProblem */
export async function assertNoDaemon(url: string): Promise<void> {
  await reach(url, '--database or TAPCHIP_DATABASE_URL')
  const side = await openSide({ url })
  await assertUnused(side).finally(() => side.close())
}

/** Distinguishes its connections from those of daemons. */
const named = (url: string): string => `${url}${url.includes('?') ? '&' : '?'}application_name=tapchip-copy`

/** Rows that every empty database of this version has. */
export async function emptyLayout(): Promise<{ tables: Table[]; initial: Map<string, number> }> {
  const empty = await migrateEmpty()
  try {
    const tables = await layoutOf(empty)
    const initial = new Map<string, number>()
    for (const { name } of tables) {
      const rows = await countRows(empty, name)
      if (rows > 0) initial.set(name, rows)
    }
    return { tables, initial }
  } finally {
    await empty.destroy()
  }
}
