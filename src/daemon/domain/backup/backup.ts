import { type Dirent, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { replaceFile } from '../../../values/replace-file.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { readAuditHead } from '../../store/audit/audit-head.ts'
import { wrapDataKey, wrappedKeyFile } from '../../store/data-dir/data-key.ts'
import type { Disk } from '../../store/data-dir/disk.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import { latestSchema } from '../../store/database/open.ts'
import { DomainError, invalid } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { digestOf, manifestText } from './backup-manifest.ts'

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
  database: 'tapchip.db',
  dataKey: wrappedKeyFile,
  /** When it was made, and the digest of each file, authenticated by the data key. */
  manifest: 'backup.json',
} as const

/** By path. */
async function digests(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    found[relative(folder, path).replaceAll('\\', '/')] = await digestOf(path)
  }
  return found
}

/** @param entries of a folder, and of those in it @returns the first that is neither a file nor a folder, in words */
export function strangeEntry(folder: string, entries: readonly Dirent[]): string | undefined {
  const strange = entries.find((entry) => !entry.isFile() && !entry.isDirectory())
  if (strange === undefined) return undefined
  const what = strange.isSymbolicLink() ? 'a link' : 'a pipe or a device'
  return `${relative(folder, join(strange.parentPath, strange.name))} is ${what}`
}

const noDataKey =
  'THIS BACKUP DOES NOT CONTAIN THE DATA KEY. Without it, the chip keys in the backup cannot be read: keep a copy of ' +
  'data.key elsewhere, or repeat the backup with a passphrase.'
const goesAway = 'This daemon is ephemeral and deletes the backup when it stops. Copy it elsewhere.'

/** Consistent while taps continue; complete or not there at all. @param passphrase wraps the data key into it */
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
  const folder = join(dataDir, 'backups')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const { path, partial } = claimFolder(join(folder, `tapchip-${at.replaceAll(':', '-')}`))
  try {
    const database = join(partial, backupFiles.database)
    const { hash: auditHead } = await readAuditHead(deps.db.read, deps.box)
    await deps.db.maintenance.backupTo(database)
    const sizeBytes = statSync(database).size
    const files = await digests(partial)
    const about = manifestText(deps.box, { madeAt: at, schema: latestSchema(), auditHead, files })
    replaceFile(join(partial, backupFiles.manifest), about, { flush: true })
    if (passphrase !== undefined) {
      const wrapped = await deps.box.withKey((key) => wrapDataKey(key, passphrase))
      replaceFile(join(partial, backupFiles.dataKey), wrapped, { flush: true })
    }
    renameSync(partial, path)
    const holdsDataKey = passphrase !== undefined
    const detail = { sizeBytes, holdsDataKey }
    await deps.db.write((trx) =>
      recordChange(trx, { at, actor, teamId: null, action: 'daemon.backup', target: path, detail }),
    )
    const warnings = [...(holdsDataKey ? [] : [noDataKey]), ...(ephemeral ? [goesAway] : [])]
    return { path, sizeBytes, holdsDataKey, warning: warnings.length > 0 ? warnings.join(' ') : undefined }
  } catch (error) {
    deps.disk.failed(error)
    // The caller gets an error, so no backup may remain.
    for (const made of [partial, path]) rmSync(made, { recursive: true, force: true })
    throw error
  }
}

/** An unused name, and the folder in which the backup is made. */
function claimFolder(base: string): { path: string; partial: string } {
  for (let number = 1; ; number++) {
    const path = number === 1 ? base : `${base}-${number}`
    const partial = `${path}.partial`
    if (existsSync(path) || existsSync(partial)) continue
    mkdirSync(partial, { mode: 0o700 })
    return { path, partial }
  }
}
