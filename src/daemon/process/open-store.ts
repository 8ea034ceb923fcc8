import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { nanoid } from 'nanoid'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { withDryRuns } from '../domain/dry-run/dry-run.ts'
import type { Clock } from '../domain/time/time.ts'
import { type AuditSeal, auditSeal, sealAuditWith } from '../store/audit/audit-head.ts'
import { withEffects } from '../store/audit/effects.ts'
import { copyMark } from '../store/copy/mark.ts'
import {
  assertNoServer,
  DataDirProblem,
  databaseFile,
  heldInstance,
  holdInstance,
} from '../store/data-dir/data-dir.ts'
import { assertDataKey, loadDataKey, restoreDataKey, sealCheck } from '../store/data-dir/data-key.ts'
import type { Disk } from '../store/data-dir/disk.ts'
import { SecretBox } from '../store/data-dir/secret-box.ts'
import type { Db } from '../store/database/database.ts'
import { awaitServer, nameOfDatabase, openDatabase, openPostgres } from '../store/database/open.ts'
import { setSettingOnce, setting } from '../store/database/settings.ts'
import { releaseAllLeases } from '../store/lease/lease.ts'
import type { ServiceManager } from './service-manager.ts'
import { type UpgradeResult, upgradeDatabase, upgradeServer } from './upgrade.ts'

/**
 * For a database server that starts at the same time as its daemons; after this, service managers restart the daemon.
 */
const serverMs = 60_000

interface OpenOptions {
  log: Logger
  disk: Disk
  clock: Clock
  starting: ServiceManager['starting']
  /** Aborted to stop the daemon before it is ready. */
  stopped: AbortSignal | undefined
}

interface OpenStore {
  db: Db
  box: SecretBox
  seal: AuditSeal
  upgrade: UpgradeResult | undefined
  failed: (error: unknown, writes?: number) => void
  instance: string
}

/** @throws DataDirProblem, DataKeyProblem, SchemaTooNew, SchemaTooOld, MigrationFailed, ServerProblem */
export const openStore = (config: Config, opening: OpenOptions): Promise<OpenStore> =>
  config.databaseUrl === undefined
    ? openFile(config, opening)
    : openServer({ ...config, databaseUrl: config.databaseUrl }, opening)

/** The database in the data directory. */
async function openFile(config: Config, { log, disk, clock, starting }: OpenOptions): Promise<OpenStore> {
  assertNoServer(config.dataDir)
  const file = join(config.dataDir, databaseFile)
  const runningInstance = heldInstance(config.dataDir, file)
  const databaseStats = statSync(file, { throwIfNoEntry: false })
  if (databaseStats && !databaseStats.isFile())
    throw new DataDirProblem(
      `${file} is ${databaseStats.isDirectory() ? 'a directory' : 'a pipe or a device'}, but must be a file. Move it away.`,
    )
  const databaseExists = databaseStats !== undefined
  if (databaseExists && config.dataKey === undefined)
    await restoreDataKey(config.dataDir, config.backupPassphrase)
  const box = new SecretBox(
    loadDataKey({ dataDir: config.dataDir, fromEnvironment: config.dataKey, databaseExists }),
  )
  const seal = auditSeal(box)
  const upgrade = await upgradeDatabase(file, { config, log, clock, disk, seal, starting })
  const failed = disk.failed.bind(disk)
  const db = withDryRuns(withEffects(openDatabase(file, failed)))
  await db.write(async (trx) => {
    sealAuditWith(trx, seal)
    // The lock on the data directory proves that former lease holders are gone.
    await releaseAllLeases(trx)
  })
  const instance = await claimDatabase(db, box, config.dataDir)
  holdInstance(config.dataDir, runningInstance, instance)
  return { db, box, seal, upgrade, failed, instance }
}

/** A database on PostgreSQL, which other daemons may use at the same time. */
async function openServer(
  config: Config & { databaseUrl: string },
  { log, disk, starting, stopped }: OpenOptions,
): Promise<OpenStore> {
  const { databaseUrl: url, dataDir } = config
  const box = new SecretBox(loadDataKey({ dataDir, fromEnvironment: config.dataKey, databaseExists: true }))
  await starting('connecting to the database')
  const waiting = (why: string) => log.warn({ why }, 'waiting for the database')
  await awaitServer(url, { patienceMs: serverMs, waiting, stopped })
  const seal = auditSeal(box)
  const upgrade = await upgradeServer(url, { log, seal, starting })
  const failed = disk.failed.bind(disk)
  const server = await openPostgres(url, failed, undefined, {
    connections: config.databaseConnections,
    changed: (trouble) =>
      trouble === undefined
        ? log.info('the database is back')
        : log.error(trouble, 'the database cannot be used'),
  })
  const db = withDryRuns(withEffects(server))
  sealAuditWith(db.read, seal)
  const name = nameOfDatabase(url)
  const begins = () => {
    if (existsSync(join(dataDir, databaseFile)))
      throw new DataDirProblem(
        `${dataDir} has a database in a file, and ${name} is empty: every chip would be unknown. Copy it: ` +
          `tapchip store copy --data-dir ${dataDir} --to ${name}. To begin with nothing, give another --data-dir.`,
      )
  }
  return { db, box, seal, upgrade, failed, instance: await claimDatabase(db, box, name, begins) }
}

/**
 * Ties a database to its data key at the first start, and checks the key at later ones: in one write, so that daemons
 * that start at once, and a copy into an empty database, exclude each other. Closes a database that is refused.
 * @param name the database's name, for people
 * @param begins may refuse an unused database
 */
async function claimDatabase(
  db: Db,
  box: SecretBox,
  name: string,
  begins: () => void = () => undefined,
): Promise<string> {
  try {
    return await db.write(async (trx) => {
      if ((await copyMark(trx)) !== undefined)
        throw new DataDirProblem(
          `The database ${name} is an unfinished copy of another one. Finish it with the same command, tapchip store copy --to …, or start on another database.`,
        )
      const sealed = await setting(trx, 'dataKeyCheck')
      if (sealed !== undefined) assertDataKey(box, sealed, name)
      else {
        begins()
        await setSettingOnce(trx, 'dataKeyCheck', sealCheck(box))
      }
      await setSettingOnce(trx, 'instance', nanoid())
      return (await setting(trx, 'instance')) ?? ''
    })
  } catch (error) {
    await db.close()
    throw error
  }
}
