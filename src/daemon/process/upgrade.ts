import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { backupFiles, writeBackup } from '../domain/backup/backup.ts'
import { type Clock, iso } from '../domain/time/time.ts'
import type { AuditSeal } from '../store/audit/audit-head.ts'
import type { Disk } from '../store/data-dir/disk.ts'
import type { SecretBox } from '../store/data-dir/secret-box.ts'
import { type CopyTo, MigrationFailed, migrate, migratePostgres } from '../store/database/open.ts'
import type { ServiceManager } from './service-manager.ts'

export interface UpgradeResult {
  readonly from: string
  readonly to: string
  /** The backup of the database from before the migration. */
  readonly copy: string | null
}

export class NoRoomForCopy extends Error {
  override readonly name = 'NoRoomForCopy'
}

/** An hour, for years of taps on a slow disk: a migration blocks the event loop. */
const migratingMs = 3_600_000
const maxCopies = 3
/** Free space that a migration itself needs. */
const spare = 64 * 1024 * 1024

interface Options {
  readonly config: Pick<Config, 'dataDir' | 'ephemeral' | 'migrationBackup'>
  readonly log: Pick<Logger, 'info'>
  readonly clock: Clock
  readonly disk: Pick<Disk, 'freeBytes'>
  /** After the migration, it knows the expected continuation of the audit log. */
  readonly seal: AuditSeal
  readonly starting: ServiceManager['starting']
}

/**
 * Migrates the database, and first copies it if it has data: an earlier version cannot open the migrated one.
 * @throws SchemaTooNew, SchemaTooOld, MigrationFailed, NoRoomForCopy: then the database is as it was
 */
export async function upgradeDatabase(file: string, options: Options): Promise<UpgradeResult | undefined> {
  const { config, log, clock, disk, seal, starting } = options
  let copy: string | undefined
  try {
    // Read before anything opens the database, which may write to its files.
    const before = stateOf(file)
    const upgrade = await migrate(file, seal, async ({ from, to }, copyTo) => {
      if (config.migrationBackup && !config.ephemeral) {
        await starting('copying the database before its migration')
        await assertRoom(file, disk)
        copy = await keepCopy(
          { file, dataDir: config.dataDir, state: before, from, clock, box: seal.box },
          copyTo,
        )
        log.info({ copy }, 'copied the database before its migration')
      }
      log.info({ from, to }, 'migrating the database')
      await starting('migrating the database', migratingMs)
    })
    if (upgrade === undefined) return undefined
    log.info({ ...upgrade, copy }, 'migrated the database')
    return { ...upgrade, copy: copy ?? null }
  } catch (error) {
    if (!(error instanceof MigrationFailed)) throw error
    const kept = copy === undefined ? '' : ` A copy of it is ${copy}.`
    error.message += `. Nothing in it was changed: the version that it comes from still opens it. Start that version again, and report this.${kept}`
    throw error
  }
}

/** Copies are made with the server's own tools. @throws SchemaTooNew, SchemaTooOld, MigrationFailed, DataKeyProblem */
export async function upgradeServer(
  url: string,
  { log, seal, starting }: Pick<Options, 'log' | 'seal' | 'starting'>,
): Promise<UpgradeResult | undefined> {
  const upgrade = await migratePostgres(url, seal, async ({ from, to }) => {
    log.info({ from, to }, 'migrating the database')
    await starting('migrating the database', migratingMs)
  })
  if (upgrade === undefined) return undefined
  log.info(upgrade, 'migrated the database')
  return { ...upgrade, copy: null }
}

const prefix = 'before-migration-'

interface Source {
  readonly file: string
  readonly dataDir: string
  readonly state: FileState
  readonly from: string
  readonly clock: Clock
  readonly box: SecretBox
}

/** @returns the path of a complete copy: a new one, or that of an earlier attempt if nothing was written since */
async function keepCopy({ file, dataDir, state, from, clock, box }: Source, copyTo: CopyTo): Promise<string> {
  // Prefixed with the number of the first missing migration, so that names are in order.
  const kind = `${prefix}${String(Number.parseInt(from, 10) + 1).padStart(4, '0')}`
  const folder = join(dataDir, 'backups')
  const last = copiesIn(folder).find((copy) => copy.startsWith(kind))
  if (last !== undefined && state.isQuiet) {
    const { mtimeMs } = statSync(join(folder, last, backupFiles.database))
    if (Math.round(mtimeMs) === state.mtimeMs) return join(folder, last)
  }
  const about = { madeAt: iso(clock.now()), schema: from, auditHead: null }
  const path = await writeBackup(dataDir, kind, { box, about, copyTo })
  // Tells the next attempt that the database has not been written since, whatever the clock says.
  const { atime, mtime } = statSync(file)
  utimesSync(join(path, backupFiles.database), atime, mtime)
  for (const old of copiesIn(folder).slice(maxCopies)) rmSync(join(folder, old), { recursive: true })
  return path
}

/** Newest first: by the schema, then by the time. */
const copiesIn = (folder: string): string[] =>
  (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [])
    .filter((entry) => entry.isDirectory() && entry.name.startsWith(prefix))
    .map(({ name }) => name)
    .sort()
    .reverse()

interface FileState {
  /** In whole milliseconds. */
  readonly mtimeMs: number | undefined
  /** The write-ahead log is empty, so everything is in the file. */
  readonly isQuiet: boolean
}

const stateOf = (file: string): FileState => ({
  mtimeMs: statSync(file, { throwIfNoEntry: false })?.mtime.getTime(),
  isQuiet: (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0,
})

async function assertRoom(file: string, disk: Options['disk']): Promise<void> {
  const size = [file, `${file}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
  const free = await disk.freeBytes()
  if (free === undefined || free >= size + spare) return
  const inMegabytes = (bytes: number) => `${Math.ceil(bytes / 1_000_000).toLocaleString('en-US')} MB`
  throw new NoRoomForCopy(
    `This version changes the schema of the database ${file}, and copies the database first. That needs ` +
      `${inMegabytes(size + spare)}, and its disk has ${inMegabytes(free)} free. Nothing was changed. Free some space, ` +
      'and start again. If you have a backup of your own, TAPCHIP_MIGRATION_BACKUP=off skips the copy.',
  )
}
