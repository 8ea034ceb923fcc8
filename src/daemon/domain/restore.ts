import { existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { copyFile, cp, lstat, readdir, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { replaceFile } from '../../values/replace-file.ts'
import {
  closeToOthers,
  DataDirInUse,
  dataDirProblem,
  instanceFile,
  isDamaged,
  lockDataDir,
} from '../store/data-dir.ts'
import {
  DataKeyProblem,
  dataKeyFile,
  dataKeyVariable,
  opensCheck,
  parseDataKey,
  unwrapDataKey,
} from '../store/data-key.ts'
import { latestSchema, migrate, openDatabase, SchemaTooNew } from '../store/open.ts'
import {
  commitRestore,
  completeRestore,
  dropStaged,
  type RestorePlan,
  stageRestore,
} from '../store/restore-dir.ts'
import { SecretBox } from '../store/secret-box.ts'
import { setting } from '../store/settings.ts'
import { backupFiles, damageOf, madeAtOf, strangeEntry } from './backup.ts'
import { markRestored } from './mark-restored.ts'
import { type Clock, iso } from './time.ts'

export class RestoreProblem extends Error {
  override readonly name = 'RestoreProblem'
}

interface Wanted {
  /** The folder of a backup, or a copy of a database. */
  from: string
  dataDir: string
  passphrase: string | undefined
  /** 64 hex digits, if the daemon gets its data key from the environment. */
  dataKey: string | undefined
}

interface Restored extends Pick<RestorePlan, 'from' | 'madeAt' | 'chips'> {
  dataDir: string
  /** The folder with the old data; null if there was none. */
  keptAside: string | null
}

const nothingChanged = 'Nothing was changed.'

/**
 * Puts a backup into a data directory. The old data is valid until the last step; a restore that is interrupted after
 * it is completed by the next one, or by the next start.
 * @throws RestoreProblem, DataKeyProblem, DataDirProblem, with nothing changed
 */
export async function restoreBackup(clock: Clock, wanted: Wanted): Promise<Restored> {
  const { dataDir } = wanted
  const source = locate(wanted.from)
  const isNew = !existsSync(dataDir)
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    closeToOthers(dataDir)
    const unlock = await lockDataDir(dataDir)
    try {
      return await restoreInto(clock, source, wanted)
    } finally {
      unlock()
    }
  } catch (error) {
    if (isNew && dropStaged(dataDir)) rmSync(dataDir, { recursive: true, force: true })
    if (error instanceof DataDirInUse)
      throw new RestoreProblem(
        `A daemon runs on ${dataDir}. Stop it first: tapchip daemon stop --data-dir ${dataDir}. ${nothingChanged}`,
      )
    throw dataDirProblem(error, dataDir)
  }
}

async function restoreInto(clock: Clock, source: Source, wanted: Wanted): Promise<Restored> {
  const { dataDir } = wanted
  const told = ({ from, madeAt, chips, keptAside }: RestorePlan): Restored => ({
    ...{ dataDir, from, madeAt, chips },
    keptAside: keptAside === null ? null : join(dataDir, keptAside),
  })
  const earlier = completeRestore(dataDir, { isStart: false })
  if (earlier?.from === source.path) return told(earlier)
  const key = await dataKeyFor(source, wanted)
  await assertSpace(source, dataDir)
  let plan: RestorePlan
  try {
    const staging = stageRestore(dataDir)
    const at = iso(clock.now())
    const made = await stage({ source, staging, dataDir, key, at })
    if (wanted.dataKey === undefined)
      replaceFile(join(staging, dataKeyFile), `${Buffer.from(key).toString('hex')}\n`, { flush: true })
    plan = commitRestore(dataDir, { ...made, from: source.path, at })
  } catch (error) {
    dropStaged(dataDir)
    throw error
  }
  completeRestore(dataDir, { isStart: false })
  return told(plan)
}

interface Source {
  /** As given: the folder of a backup, or a copy of a database. */
  path: string
  database: string
  /** Undefined for a copy of a database alone, such as the one from before a migration. */
  folder: string | undefined
}

/** @throws RestoreProblem if it is no backup */
function locate(from: string): Source {
  const path = resolve(from)
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) throw new RestoreProblem(`${path} does not exist. Give the folder of a backup.`)
  const database = stats.isDirectory() ? join(path, backupFiles.database) : path
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size
  if (size(database) === undefined)
    throw new RestoreProblem(
      `${path} is not a backup: it has no ${backupFiles.database}. Give the whole folder that tapchip backup made.`,
    )
  if ((size(`${database}-wal`) ?? 0) > 0)
    throw new RestoreProblem(
      `${path} is the data of a daemon, and not a backup: its last changes are in ${basename(database)}-wal. ` +
        'Start a daemon on it, or give the folder of a backup.',
    )
  const isOfBackup = basename(database) === backupFiles.database
  return { path, database, folder: isOfBackup ? dirname(database) : undefined }
}

/** From the environment, the passphrase, beside the backup, or the old data. @throws DataKeyProblem, RestoreProblem */
async function dataKeyFor(
  { folder, path: given }: Source,
  { dataDir, passphrase, dataKey }: Wanted,
): Promise<Uint8Array> {
  if (dataKey !== undefined) return parseDataKey(dataKey, dataKeyVariable)
  const wrapped = folder === undefined ? undefined : join(folder, backupFiles.dataKey)
  const isWrapped = wrapped !== undefined && existsSync(wrapped)
  if (isWrapped && passphrase !== undefined) {
    try {
      return await unwrapDataKey(readFileSync(wrapped, 'utf8'), passphrase)
    } catch (error) {
      if (!(error instanceof DataKeyProblem)) throw error
      throw new DataKeyProblem(`${error.message} ${nothingChanged}`)
    }
  }
  for (const place of [...(folder === undefined ? [] : [folder]), dataDir]) {
    const path = join(place, dataKeyFile)
    if (existsSync(path)) return parseDataKey(readFileSync(path, 'utf8').trim(), path)
  }
  throw new RestoreProblem(
    isWrapped
      ? `The data key of this backup is under a passphrase. Give it: --passphrase-file FILE, or TAPCHIP_BACKUP_PASSPHRASE. ${nothingChanged}`
      : `This backup does not contain the data key, and without it no tap can be verified. Put your copy of ${dataKeyFile} into ${folder ?? dirname(given)}, or set ${dataKeyVariable}, and run this again. ${nothingChanged}`,
  )
}

/** The copy, as much again for its changes, and something to start with. */
async function assertSpace({ folder, database }: Source, dataDir: string): Promise<void> {
  const files =
    folder === undefined
      ? [database]
      : (await readdir(folder, { recursive: true })).map((name) => join(folder, name))
  let bytes = 16 * 1024 * 1024
  for (const path of files) bytes += 2 * (await lstat(path)).size
  const { bavail, bsize } = await statfs(dataDir)
  if (bavail * bsize >= bytes) return
  const mb = (count: number) => `${Math.ceil(count / 1_000_000)} MB`
  throw new RestoreProblem(
    `The disk of ${dataDir} has ${mb(bavail * bsize)} free, and this restore takes ${mb(bytes)}. Free some space. ${nothingChanged}`,
  )
}

interface Staging {
  source: Source
  staging: string
  dataDir: string
  key: Uint8Array
  at: string
}

/** Makes the new data, complete and on disk. @throws RestoreProblem if the backup is damaged or does not fit */
async function stage({
  source,
  staging,
  dataDir,
  key,
  at,
}: Staging): Promise<Pick<RestorePlan, 'madeAt' | 'chips'>> {
  const file = join(staging, backupFiles.database)
  await copyFile(source.database, file)
  // A copy from before a migration has no images of its own.
  const images = join(source.folder ?? dataDir, backupFiles.images)
  const damage = (what: string) =>
    new RestoreProblem(`The backup ${source.path} is damaged: ${what}. Use another one. ${nothingChanged}`)
  const strange = await strangeEntry(images)
  if (strange !== undefined) throw damage(`${join(backupFiles.images, strange)} is a link or a device`)
  if (existsSync(images)) await cp(images, join(staging, backupFiles.images), { recursive: true })
  const changed = source.folder && (await damageOf(source.folder, staging))
  if (changed !== undefined) throw damage(changed)
  const box = new SecretBox(key)
  const wrongKey = () =>
    new DataKeyProblem(
      `The data key is not the one that this backup was made with. Give the passphrase of the backup, or its ${dataKeyFile}. ${nothingChanged}`,
    )
  try {
    await migrate(file, box)
  } catch (error) {
    if (error instanceof DataKeyProblem) throw wrongKey()
    if (error instanceof SchemaTooNew)
      throw new RestoreProblem(
        `This backup was made by a newer version of Tapchip than this one, which knows the schema ${latestSchema}. Install that version, then restore. ${nothingChanged}`,
      )
    throw isDamaged(error) ? damage('its database cannot be read') : error
  }
  const db = openDatabase(file)
  try {
    const check = await db.maintenance.quickCheck()
    if (check !== 'ok') throw damage(check.slice(0, 200))
    const sealed = await setting(db.read, 'dataKeyCheck')
    if (sealed === undefined) throw damage('it is not of a daemon that has run')
    if (!opensCheck(box, sealed)) throw wrongKey()
    const madeAt = source.folder === undefined ? null : madeAtOf(source.folder)
    const { chips } = await markRestored(db, box, { at, madeAt, target: source.path })
    const instance = (await setting(db.read, 'instance')) ?? ''
    replaceFile(join(staging, instanceFile), `${instance}\n`, { flush: true })
    return { madeAt, chips }
  } finally {
    await db.close()
  }
}
