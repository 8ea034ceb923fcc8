import { createReadStream, createWriteStream, existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { readRegular, replaceFile } from '../../../values/files.ts'
import { auditSeal } from '../../store/audit/audit-head.ts'
import {
  commitRestore,
  completeRestore,
  dropStaged,
  type RestorePlan,
  stageRestore,
} from '../../store/backup/restore-dir.ts'
import { type AsRoot, asOwnerOf } from '../../store/data-dir/as-owner.ts'
import {
  closeToOthers,
  DataDirInUse,
  dataDirProblem,
  instanceFile,
  isDamaged,
  lockDataDir,
} from '../../store/data-dir/data-dir.ts'
import {
  assertDataKey,
  DataKeyProblem,
  dataKeyFile,
  dataKeyVariable,
  parseDataKey,
  unwrapDataKey,
} from '../../store/data-dir/data-key.ts'
import { SecretBox } from '../../store/data-dir/secret-box.ts'
import { latestSchema, migrate, openDatabase, SchemaTooNew, SchemaTooOld } from '../../store/database/open.ts'
import { setting } from '../../store/database/settings.ts'
import { type Clock, iso } from '../time/time.ts'
import { backupFiles } from './backup.ts'
import { digestOf, type Manifest } from './backup-manifest.ts'
import { markRestored } from './mark-restored.ts'
import {
  authenticManifest,
  expectedDigest,
  locate,
  nothingChanged,
  openFrom,
  problemOf,
  RestoreProblem,
  readFrom,
  type Source,
} from './restore-source.ts'

interface RestoreRequest {
  /** The folder of a backup. */
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

/**
 * Puts a backup into a data directory. The old data is valid until the last step; a restore that is interrupted after
 * it is completed by the next one, or by the next start.
 * @throws RestoreProblem, DataKeyProblem, DataDirProblem, with nothing changed
 */
export async function restoreBackup(clock: Clock, request: RestoreRequest): Promise<Restored> {
  return asOwnerOf(request.dataDir, (asRoot) => restoreAsOwner(clock, request, asRoot))
}

async function restoreAsOwner(clock: Clock, request: RestoreRequest, asRoot: AsRoot): Promise<Restored> {
  const { dataDir } = request
  const source = locate(request.from, asRoot)
  const isNew = !existsSync(dataDir)
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    closeToOthers(dataDir)
    const unlock = await lockDataDir(dataDir)
    try {
      return await restoreInto(clock, source, request)
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

async function restoreInto(clock: Clock, source: Source, request: RestoreRequest): Promise<Restored> {
  const { dataDir } = request
  const resultOf = ({ from, madeAt, chips, keptAside }: RestorePlan): Restored => ({
    ...{ dataDir, from, madeAt, chips },
    keptAside: keptAside === null ? null : join(dataDir, keptAside),
  })
  const earlier = completeRestore(dataDir, { isStart: false })
  if (earlier?.from === source.path) return resultOf(earlier)
  const key = await dataKeyFor(source, request)
  const made = authenticManifest(source, new SecretBox(key))
  const digest = expectedDigest(source, made)
  await assertSpace(source, dataDir)
  let plan: RestorePlan
  try {
    const staging = stageRestore(dataDir)
    const at = iso(clock.now())
    const { chips } = await stage({ source, made, digest, staging, key, at })
    if (request.dataKey === undefined)
      replaceFile(join(staging, dataKeyFile), `${Buffer.from(key).toString('hex')}\n`, { flush: true })
    plan = commitRestore(dataDir, { madeAt: made.madeAt, chips, from: source.path, at })
  } catch (error) {
    dropStaged(dataDir)
    throw error
  }
  completeRestore(dataDir, { isStart: false })
  return resultOf(plan)
}

/** From the environment, the passphrase, beside the backup, or the old data. @throws DataKeyProblem, RestoreProblem */
async function dataKeyFor(
  source: Source,
  { dataDir, passphrase, dataKey }: RestoreRequest,
): Promise<Uint8Array> {
  const { folder, reach } = source
  if (dataKey !== undefined) return parseDataKey(dataKey, dataKeyVariable)
  const wrapped = join(folder, backupFiles.dataKey)
  const exists = (path: string) => reach(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined
  const isWrapped = exists(wrapped)
  if (isWrapped && passphrase !== undefined) {
    try {
      return await unwrapDataKey(readFrom(source, wrapped), passphrase)
    } catch (error) {
      if (!(error instanceof DataKeyProblem)) throw error
      throw new DataKeyProblem(`${error.message} ${nothingChanged}`)
    }
  }
  const besideBackup = join(folder, dataKeyFile)
  if (exists(besideBackup)) return parseDataKey(readFrom(source, besideBackup).trim(), besideBackup)
  const inDataDir = join(dataDir, dataKeyFile)
  if (existsSync(inDataDir)) return parseDataKey(readRegular(inDataDir).trim(), inDataDir)
  throw new RestoreProblem(
    isWrapped
      ? `The data key of this backup is under a passphrase. Give it: --passphrase-file FILE, or TAPCHIP_BACKUP_PASSPHRASE. ${nothingChanged}`
      : `This backup does not contain the data key, and without it no tap can be verified. Put your copy of ${dataKeyFile} into ${folder}, or set ${dataKeyVariable}, and run this again. ${nothingChanged}`,
  )
}

/** The copy, as much again for its changes, and something to start with. */
async function assertSpace({ database, reach }: Source, dataDir: string): Promise<void> {
  const size = reach(() => lstatSync(database, { throwIfNoEntry: false }))?.size ?? 0
  const bytes = 2 * size + 16 * 1024 * 1024
  const { bavail, bsize } = await statfs(dataDir)
  if (bavail * bsize >= bytes) return
  const mb = (count: number) => `${Math.ceil(count / 1_000_000)} MB`
  throw new RestoreProblem(
    `The disk of ${dataDir} has ${mb(bavail * bsize)} free, and this restore takes ${mb(bytes)}. Free some space. ${nothingChanged}`,
  )
}

interface Staging {
  source: Source
  made: Manifest
  digest: string
  staging: string
  key: Uint8Array
  at: string
}

/** Makes the new data, complete and on disk. @throws RestoreProblem if the backup is damaged or does not fit */
async function stage({
  source,
  made,
  digest,
  staging,
  key,
  at,
}: Staging): Promise<Pick<RestorePlan, 'chips'>> {
  const file = join(staging, backupFiles.database)
  const damage = (what: string) => problemOf(source, what)
  const input = createReadStream(source.database, { fd: openFrom(source, source.database) })
  await pipeline(input, createWriteStream(file, { flags: 'wx', mode: 0o600 }))
  if ((await digestOf(file)) !== digest) throw damage(`${backupFiles.database} has changed since it was made`)
  const box = new SecretBox(key)
  try {
    await migrate(file, auditSeal(box))
  } catch (error) {
    if (error instanceof SchemaTooNew)
      throw new RestoreProblem(
        `This backup was made by a newer version of Tapchip than this one, which knows the schema ${latestSchema()}. Install that version, then restore. ${nothingChanged}`,
      )
    if (error instanceof SchemaTooOld) {
      const { message } = new SchemaTooOld(
        'This backup',
        error.schema,
        'Restore it with that version, and start that one',
      )
      throw new RestoreProblem(message)
    }
    throw isDamaged(error) ? damage('its database cannot be read') : error
  }
  const db = openDatabase(file)
  try {
    const check = await db.maintenance.quickCheck()
    if (check !== 'ok') throw damage(check.slice(0, 200))
    const sealed = await setting(db.read, 'dataKeyCheck')
    if (sealed === undefined) throw damage('it does not come from a daemon that has run')
    assertDataKey(box, sealed, source.path)
    const { chips } = await markRestored(db, box, { at, madeAt: made.madeAt, target: source.path })
    const instance = (await setting(db.read, 'instance')) ?? ''
    replaceFile(join(staging, instanceFile), `${instance}\n`, { flush: true })
    return { chips }
  } finally {
    await db.close()
  }
}
