import { closeSync, fstatSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { openRegular } from '../../../values/files.ts'
import { type AsRoot, isOutOfReach } from '../../store/data-dir/as-owner.ts'
import { DataKeyProblem, dataKeyFile } from '../../store/data-dir/data-key.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { backupFiles } from './backup.ts'
import { checkManifest, type Manifest, parseManifest } from './backup-manifest.ts'

export class RestoreProblem extends Error {
  override readonly name = 'RestoreProblem'
}

export const nothingChanged = 'Nothing was changed.'

export interface Source {
  /** The path given: a backup's folder, or the database in it. */
  path: string
  folder: string
  database: string
  manifest: string
  /** Reads the backup's files. */
  reach: AsRoot
}

/** @throws RestoreProblem if it is no backup */
export function locate(from: string, asRoot: AsRoot): Source {
  const path = resolve(from)
  const reach = readerOf(path, asRoot)
  const stats = reach(() => statSync(path, { throwIfNoEntry: false }))
  if (stats === undefined) throw new RestoreProblem(`${path} does not exist. Give the folder of a backup.`)
  const folder = stats.isDirectory() ? path : dirname(path)
  const database = join(folder, backupFiles.database)
  const size = (file: string) => reach(() => statSync(file, { throwIfNoEntry: false }))?.size
  if (size(database) === undefined || ![folder, database].includes(path))
    throw new RestoreProblem(
      `${path} is not a backup: it has no ${backupFiles.database}. Give the whole folder that tapchip backup made.`,
    )
  if ((size(`${database}-wal`) ?? 0) > 0)
    throw new RestoreProblem(
      `${path} is the data of a daemon, and not a backup: its last changes are in ${basename(database)}-wal. ` +
        'Start a daemon on it, or give the folder of a backup.',
    )
  return { path, folder, database, manifest: join(folder, backupFiles.manifest), reach }
}

/**
 * Root can read backups that the owner of the data directory cannot, but only from paths where that user cannot have
 * planted links.
 */
function readerOf(path: string, asRoot: AsRoot): AsRoot {
  const uid = process.geteuid?.() ?? 0
  return (read) => {
    try {
      return read()
    } catch (error) {
      const isDenied = error instanceof Error && 'code' in error && error.code === 'EACCES'
      if (!isDenied || !asRoot(() => process.geteuid?.() === 0)) throw error
      if (asRoot(() => isOutOfReach(path, uid))) return asRoot(read)
      throw new RestoreProblem(
        `The user of the data directory cannot read ${path}, and the restore works as that user. Give the backup to them (chown -R), or put it where only root may write. ${nothingChanged}`,
      )
    }
  }
}

export const problemOf = ({ path }: Source, what: string, advice = 'Use another one.') =>
  new RestoreProblem(`The backup ${path} is damaged: ${what}. ${advice} ${nothingChanged}`)

/** @throws RestoreProblem, DataKeyProblem unless the data key made it */
export function authenticManifest(source: Source, box: SecretBox): Manifest {
  const name = basename(source.manifest)
  if (!source.reach(() => lstatSync(source.manifest, { throwIfNoEntry: false })))
    throw new RestoreProblem(
      `${source.path} has no ${name}, which proves that nobody has changed the backup. Give all that tapchip backup made, with its ${name}. ${nothingChanged}`,
    )
  const made = parseManifest(readFrom(source, source.manifest))
  if (made === undefined)
    throw problemOf(
      source,
      `its ${name} cannot be read`,
      'If it was made by an earlier version of Tapchip, whose backups prove nothing, restore it with that version, and take its chips over as docs/daemon.md says; otherwise use another one.',
    )
  const verdict = checkManifest(box, made)
  if (verdict === 'other key')
    throw new DataKeyProblem(
      `The data key is not the one that this backup was made with. Give the passphrase of the backup, or its ${dataKeyFile}. ${nothingChanged}`,
    )
  if (verdict === 'changed') throw problemOf(source, `its ${name} was changed since it was made`)
  return made
}

const maxTextBytes = 32 * 1024 * 1024

/** @throws RestoreProblem if it is a link, a pipe, or a device, or too long */
export function readFrom(source: Source, path: string): string {
  const file = openFrom(source, path)
  try {
    if (fstatSync(file).size > maxTextBytes) throw problemOf(source, `${basename(path)} is too large`)
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

export function openFrom(source: Source, path: string): number {
  const name = relative(source.folder, path)
  try {
    return source.reach(() => openRegular(path, { followsLinks: false }))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'ELOOP' || code === 'EMLINK') throw problemOf(source, `${name} is a link`)
    if (code === 'EFTYPE' || code === 'ENXIO') throw problemOf(source, `${name} is a pipe or a device`)
    if (code === 'ENOENT') throw problemOf(source, `${name} is missing`)
    throw error
  }
}

/** Digest of the database, from the manifest. @throws RestoreProblem if the folder holds anything but files */
export function expectedDigest(source: Source, { files }: Manifest): string {
  const { folder, reach } = source
  const entries = reach(() => readdirSync(folder, { recursive: true, withFileTypes: true }))
  const unrecognized = entries.find((entry) => !entry.isFile() && !entry.isDirectory())
  if (unrecognized !== undefined) {
    const what = unrecognized.isSymbolicLink() ? 'a link' : 'a pipe or a device'
    throw problemOf(
      source,
      `${relative(folder, join(unrecognized.parentPath, unrecognized.name))} is ${what}`,
    )
  }
  const unknown = Object.keys(files).find((name) => name !== backupFiles.database)
  if (unknown !== undefined) throw problemOf(source, `its ${backupFiles.manifest} names ${unknown}`)
  const digest = files[backupFiles.database]
  if (digest === undefined)
    throw problemOf(source, `its ${backupFiles.manifest} does not name ${backupFiles.database}`)
  return digest
}
