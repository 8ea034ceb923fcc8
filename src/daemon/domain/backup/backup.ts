import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../../values/files.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { readAuditHead } from '../../store/audit/audit-head.ts'
import { databaseFile } from '../../store/data-dir/data-dir.ts'
import { wrapDataKey, wrappedKeyFile } from '../../store/data-dir/data-key.ts'
import type { Disk } from '../../store/data-dir/disk.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import { latestSchema } from '../../store/database/open.ts'
import { DomainError, invalid } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { digestOf, type Manifest, manifestText } from './backup-manifest.ts'

interface Backup {
  path: string
  sizeBytes: number
  holdsDataKey: boolean
  warning: string | undefined
}

interface Deps {
  db: Db
  disk: Pick<Disk, 'failed'>
  clock: Clock
  box: SecretBox
  config: { dataDir: string; ephemeral: boolean }
}

export const backupFiles = {
  database: databaseFile,
  dataKey: wrappedKeyFile,
  /** The time of the backup and the digest of each file, authenticated with the data key. */
  manifest: 'backup.json',
} as const

const noDataKey =
  'THIS BACKUP DOES NOT CONTAIN THE DATA KEY. Without it, the chip keys in the backup cannot be read: keep a copy of ' +
  'data.key elsewhere, or repeat the backup with a passphrase.'
const ephemeralWarning = 'This daemon is ephemeral and deletes the backup when it stops. Copy it elsewhere.'

/**
 * Creates a backup that is consistent while taps continue; it is complete or absent. @param passphrase encrypts the
 * data key for the backup
 */
export async function createBackup(
  deps: Deps,
  actor: Actor,
  passphrase: string | undefined,
): Promise<Backup> {
  if (passphrase === '') throw invalid('passphrase', 'must not be empty')
  const server = await deps.db.maintenance.serverState?.()
  if (server !== undefined)
    throw new DomainError(
      'conflict',
      `The database is on a server, whose own tools copy it: pg_dump --format=custom --file=tapchip.dump --username=USER '${server.name}', with the user of TAPCHIP_DATABASE_URL. Keep TAPCHIP_DATA_KEY elsewhere. After restoring an earlier state: tapchip store mark-restored. See docs/fleet.md.`,
    )
  const { dataDir, ephemeral } = deps.config
  const at = iso(deps.clock.now())
  const { hash: auditHead } = await readAuditHead(deps.db.read, deps.box)
  const copyTo = deps.db.maintenance.backupTo
  const about = { madeAt: at, schema: latestSchema(), auditHead }
  let path: string | undefined
  try {
    path = await writeBackup(dataDir, 'tapchip', { box: deps.box, about, copyTo, passphrase })
    const { size: sizeBytes } = statSync(join(path, backupFiles.database))
    const holdsDataKey = passphrase !== undefined
    const change = { at, actor, teamId: null, action: 'daemon.backup', target: path } as const
    const detail = { sizeBytes, holdsDataKey }
    await deps.db.write((trx) => recordChange(trx, { ...change, detail }))
    const warnings = [...(holdsDataKey ? [] : [noDataKey]), ...(ephemeral ? [ephemeralWarning] : [])]
    return { path, sizeBytes, holdsDataKey, warning: warnings.length > 0 ? warnings.join(' ') : undefined }
  } catch (error) {
    deps.disk.failed(error)
    // The caller gets an error, so no backup may remain.
    if (path !== undefined) rmSync(path, { recursive: true, force: true })
    throw error
  }
}

interface Contents {
  box: SecretBox
  about: Pick<Manifest, 'madeAt' | 'schema' | 'auditHead'>
  /** Makes a copy of the database. */
  copyTo: (path: string) => Promise<void>
  passphrase?: string | undefined
}

/** Creates a folder that is complete or absent. @param kind prefix of its name @returns the folder */
export async function writeBackup(
  dataDir: string,
  kind: string,
  { box, about, copyTo, passphrase }: Contents,
): Promise<string> {
  const folder = join(dataDir, 'backups')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { path, partial } = claimFolder(join(folder, `${kind}-${about.madeAt.replaceAll(':', '-')}`))
  try {
    const database = join(partial, backupFiles.database)
    await copyTo(database)
    const files = { [backupFiles.database]: await digestOf(database) }
    replaceFile(join(partial, backupFiles.manifest), manifestText(box, { ...about, files }), { flush: true })
    if (passphrase !== undefined) {
      const wrapped = await box.withKey((key) => wrapDataKey(key, passphrase))
      replaceFile(join(partial, backupFiles.dataKey), wrapped, { flush: true })
    }
    renameSync(partial, path)
    return path
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    throw error
  }
}

/** An unused name, and the temporary folder in which the backup is made. */
function claimFolder(base: string): { path: string; partial: string } {
  for (let number = 1; ; number++) {
    const path = number === 1 ? base : `${base}-${number}`
    const partial = `${path}.partial`
    if (existsSync(path) || existsSync(partial)) continue
    mkdirSync(partial, { mode: 0o700 })
    return { path, partial }
  }
}
