import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { replaceFile } from '../../values/replace-file.ts'
import type { Config } from '../config/config.ts'
import { digestOf, manifestBeside, manifestText } from '../domain/backup/backup-manifest.ts'
import { type Clock, iso } from '../domain/time/time.ts'
import type { AuditSeal } from '../store/audit/audit-head.ts'
import type { Disk } from '../store/data-dir/disk.ts'
import type { SecretBox } from '../store/data-dir/secret-box.ts'
import { type CopyTo, MigrationFailed, migrate, migratePostgres } from '../store/database/open.ts'
import type { ServiceManager } from './service-manager.ts'

export interface UpgradeResult {
  readonly from: string
  readonly to: string
  /** The copy of the database from before. */
  readonly copy: string | null
}

export class NoRoomForCopy extends Error {
  override readonly name = 'NoRoomForCopy'
}

/** An hour, for years of taps on a slow disk: the event loop stands still in a migration. */
const migratingMs = 3_600_000
const copiesKept = 3
/** A migration itself needs some as well. */
const spare = 64 * 1024 * 1024

interface Options {
  readonly config: Pick<Config, 'dataDir' | 'ephemeral' | 'migrationBackup'>
  readonly log: Pick<Logger, 'info'>
  readonly clock: Clock
  readonly disk: Pick<Disk, 'freeBytes'>
  /** Knows afterwards how the audit log has to go on. */
  readonly seal: AuditSeal
  readonly starting: ServiceManager['starting']
}

/**
 * Migrates the database, and first copies one that has data: an earlier version cannot open what this one makes of it.
 * @throws SchemaTooNew, SchemaTooOld, MigrationFailed, NoRoomForCopy: then the database is as it was
 */
export async function upgradeDatabase(file: string, options: Options): Promise<UpgradeResult | undefined> {
  const { config, log, clock, disk, seal, starting } = options
  let copy: string | undefined
  try {
    // Read before anything opens the database, which may write to its files.
    const stood = stateOf(file)
    const upgrade = await migrate(file, seal, async ({ from, to }, copyTo) => {
      if (config.migrationBackup && !config.ephemeral) {
        await starting('copying the database before its migration')
        await assertRoom(file, disk)
        const folder = join(config.dataDir, 'backups')
        copy = await keepCopy(
          { file, folder, stood, name: nameOf(from, clock), from, clock, box: seal.box },
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

/** By the number of the last migration, so that names are in order. */
const nameOf = (from: string, clock: Clock): string =>
  `${prefix}${String(Number.parseInt(from, 10) + 1).padStart(4, '0')}-${iso(clock.now()).replaceAll(':', '-')}.db`

interface Source {
  readonly file: string
  readonly folder: string
  readonly name: string
  readonly stood: FileState
  readonly from: string
  readonly clock: Clock
  readonly box: SecretBox
}

/** @returns the path of a complete copy: a new one, or that of an earlier attempt if nothing was written since */
async function keepCopy(source: Source, copyTo: CopyTo): Promise<string> {
  const { file, folder, name, stood, from, clock, box } = source
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const kept = copiesIn(folder)
  const last = kept.find((copy) => copy.startsWith(name.slice(0, prefix.length + 4)))
  if (
    last !== undefined &&
    stood.isQuiet &&
    existsSync(manifestBeside(join(folder, last))) &&
    Math.round(statSync(join(folder, last)).mtimeMs) === stood.mtimeMs
  )
    return join(folder, last)
  const path = join(folder, name)
  const partial = `${path}.partial`
  try {
    await copyTo(partial)
    // Tells at the next attempt that the database has not been written since, whatever the clock says.
    const { atime, mtime } = statSync(file)
    utimesSync(partial, atime, mtime)
    const files = { [name]: await digestOf(partial) }
    const about = { madeAt: iso(clock.now()), schema: from, auditHead: null, files }
    replaceFile(manifestBeside(path), manifestText(box, about), { flush: true })
    renameSync(partial, path)
  } catch (error) {
    for (const left of [partial, `${partial}-journal`, manifestBeside(path)]) rmSync(left, { force: true })
    throw error
  }
  for (const old of copiesIn(folder).slice(copiesKept))
    for (const part of [join(folder, old), manifestBeside(join(folder, old))]) rmSync(part, { force: true })
  return path
}

/** Newest first: by the schema, then by the time. */
const copiesIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && name.endsWith('.db'))
    .sort()
    .reverse()

interface FileState {
  /** In whole milliseconds. */
  readonly mtimeMs: number | undefined
  /** The log of writes is empty, so everything is in the file. */
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
      'and start again. If you have a backup of your own, TAPCHIP_MIGRATION_BACKUP=off does without the copy.',
  )
}
