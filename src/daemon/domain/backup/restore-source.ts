import { closeSync, fstatSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { openRegular } from '../../../values/regular-file.ts'
import { type AsRoot, isOutOfReach } from '../../store/data-dir/as-owner.ts'
import { DataKeyProblem, dataKeyFile } from '../../store/data-dir/data-key.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { backupFiles, strangeEntry } from './backup.ts'
import { checkManifest, type Manifest, manifestBeside, parseManifest } from './backup-manifest.ts'

export class RestoreProblem extends Error {
  override readonly name = 'RestoreProblem'
}

export const nothingChanged = 'Nothing was changed.'

export interface Source {
  /** As given: the folder of a backup, or a copy of a database. */
  path: string
  database: string
  /** Undefined for a copy of a database alone, such as the one from before a migration. */
  folder: string | undefined
  manifest: string
  /** Reads what is there. */
  reach: AsRoot
}

/** @throws RestoreProblem if it is no backup */
export function locate(from: string, asRoot: AsRoot): Source {
  const path = resolve(from)
  const reach = readerOf(path, asRoot)
  const stats = reach(() => statSync(path, { throwIfNoEntry: false }))
  if (stats === undefined) throw new RestoreProblem(`${path} does not exist. Give the folder of a backup.`)
  const database = stats.isDirectory() ? join(path, backupFiles.database) : path
  const size = (file: string) => reach(() => statSync(file, { throwIfNoEntry: false }))?.size
  if (size(database) === undefined)
    throw new RestoreProblem(
      `${path} is not a backup: it has no ${backupFiles.database}. Give the whole folder that tapchip backup made.`,
    )
  if ((size(`${database}-wal`) ?? 0) > 0)
    throw new RestoreProblem(
      `${path} is the data of a daemon, and not a backup: its last changes are in ${basename(database)}-wal. ` +
        'Start a daemon on it, or give the folder of a backup.',
    )
  const folder = basename(database) === backupFiles.database ? dirname(database) : undefined
  const manifest = folder === undefined ? manifestBeside(database) : join(folder, backupFiles.manifest)
  return { path, database, folder, manifest, reach }
}

/**
 * Root reads a backup that the owner of the data directory may not, but only where that user can have put nothing that
 * leads elsewhere.
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
  const name = source.folder === undefined ? basename(path) : relative(source.folder, path)
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

export interface Copied {
  from: string
  /** In the staged data. */
  name: string
  digest: string
}

/** Files to copy, from the manifest. @throws RestoreProblem if the folder holds anything but files */
export function filesOf(source: Source, { files }: Manifest): Copied[] {
  const { folder, database, reach } = source
  const listed = Object.entries(files)
  if (folder === undefined)
    return listed.map(([, digest]) => ({ from: database, name: backupFiles.database, digest }))
  const entries = reach(() => readdirSync(folder, { recursive: true, withFileTypes: true }))
  const strange = strangeEntry(folder, entries)
  if (strange !== undefined) throw problemOf(source, strange)
  const unknown = listed.find(([name]) => name !== backupFiles.database)
  if (unknown) throw problemOf(source, `its ${backupFiles.manifest} names ${unknown[0]}`)
  return listed.map(([name, digest]) => ({ from: join(folder, name), name, digest }))
}
