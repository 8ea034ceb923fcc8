import { chmodSync, existsSync, lstatSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { isPartial, readRegular, replaceFile } from '../../../values/files.ts'
import { holdersOf, lockFile } from '../../../values/local-daemon.ts'
import { isOfDescriptors, lacksDescriptors, NoDescriptors } from './descriptors.ts'

export class DataDirProblem extends Error {
  override readonly name = 'DataDirProblem'
}

export const databaseFile = 'tapchip.db'
// Written after the first successful start. Distinguishes a lost database from a new directory.
export const instanceFile = 'instance'

const restore =
  'Put a backup in its place: tapchip restore BACKUP --data-dir DIR (docs/restore.md), ' +
  'or start afresh in another --data-dir.'

/** Other users could add their own keys. @throws DataDirProblem if another user owns the directory */
export function closeToOthers(dataDir: string): void {
  if (process.platform === 'win32') return
  const { mode, uid } = statSync(dataDir)
  if ((mode & 0o022) === 0) return
  if (uid !== process.geteuid?.())
    throw new DataDirProblem(
      `${dataDir} is another user's, and open to others. Give another --data-dir, or have it closed: chmod 700 ${dataDir}`,
    )
  chmodSync(dataDir, 0o700)
}

/** @returns undefined before the first start @throws DataDirProblem if the database is lost */
export function heldInstance(dataDir: string, databaseFile: string): string | undefined {
  const path = join(dataDir, instanceFile)
  const isMarked = existsSync(path)
  if (!isMarked && !holdsChain(dataDir)) return undefined
  const instance = isMarked ? readRegular(path).trim() : ''
  const size = statSync(databaseFile, { throwIfNoEntry: false })?.size
  if (size === undefined || size === 0)
    throw new DataDirProblem(
      `${databaseFile} is ${size === undefined ? 'missing' : 'empty'}, but this directory had data before. ${restore}`,
    )
  return instance === '' ? undefined : instance
}

/** The embedded chain starts after the database, so its state proves that there was one even if the marker is lost. */
const holdsChain = (dataDir: string): boolean => {
  const folder = join(dataDir, 'dev-chain')
  return existsSync(folder) && readdirSync(folder).some((name) => /^(state|sent)-/.test(name))
}

/** @throws DataDirProblem if the database belongs to another installation */
export function holdInstance(dataDir: string, held: string | undefined, instance: string): void {
  if (held === instance) return
  if (held !== undefined)
    throw new DataDirProblem(
      `The database in ${dataDir} is not the one that belongs to this directory (${instance} instead of ${held}). ` +
        `Put the right one back. If this one is meant to be here, remove ${join(dataDir, instanceFile)}.`,
    )
  replaceFile(join(dataDir, instanceFile), `${instance}\n`, { flush: true })
}

// Its database is on a server: without the URL, a new, empty one would be created in a file.
const serverFile = 'server'

/** @param name name of the database on a server, without a password */
export function holdServer(dataDir: string, name: string): void {
  const path = join(dataDir, serverFile)
  if (existsSync(path) && readRegular(path).trim() === name) return
  replaceFile(path, `${name}\n`, { flush: true })
}

/** The database is in the directory again. */
export const forgetServer = (dataDir: string): void => rmSync(join(dataDir, serverFile), { force: true })

/** @throws DataDirProblem if the last daemon here had its database on a server */
export function assertNoServer(dataDir: string): void {
  const path = join(dataDir, serverFile)
  if (!existsSync(path)) return
  throw new DataDirProblem(
    `The daemon of ${dataDir} had its database at ${readRegular(path).trim()}, and TAPCHIP_DATABASE_URL is not set. ` +
      `Set it. For a database in a file, give another --data-dir; or remove ${path}, if the one that is here is to be used.`,
  )
}

export function removeUnfinished(dataDir: string): void {
  const remove = (folder: string, ours: (name: string) => boolean) => {
    if (!existsSync(folder)) return
    for (const name of readdirSync(folder))
      if (ours(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  remove(dataDir, isPartial)
  remove(
    join(dataDir, 'backups'),
    (name) => /^(tapchip|before-migration)-.*\.partial$/.test(name) || isPartial(name),
  )
}

/** Also checks the causes of the error. */
export function isDamaged(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return /^SQLITE_(CORRUPT|NOTADB)/.test(code) || isDamaged(error.cause)
}

/** @returns a DataDirProblem or NoDescriptors for disk and database errors, and other errors unchanged */
export function dataDirProblem(error: unknown, dataDir: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (isOfDescriptors(error) || (code === 'SQLITE_CANTOPEN' && lacksDescriptors(8)))
    return new NoDescriptors(error)
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : undefined
  if (code === '' && cause !== undefined) {
    const known = dataDirProblem(cause, dataDir)
    return known === cause ? error : known
  }
  // Permission errors on network addresses do not concern files.
  const isOfNetwork = error instanceof Error && ('address' in error || 'hostname' in error)
  const why = isOfNetwork ? undefined : reasons.find(([codes]) => codes.test(code))?.[1]
  const path = named(error) ?? dataDir
  return why === undefined ? error : new DataDirProblem(why(dataDir, code, path), { cause: error })
}

/** A failed move concerns its destination, because its source exists. */
function named(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('dest' in error && typeof error.dest === 'string') return error.dest
  return 'path' in error && typeof error.path === 'string' ? error.path : undefined
}

/** `path` is the path in the system error. */
const reasons: readonly [RegExp, (dataDir: string, code: string, path: string) => string][] = [
  [
    /^(SQLITE_FULL|ENOSPC|EDQUOT|EFBIG)$/,
    (dir) =>
      `The disk of ${dir} is full. Free some space, then start again: nothing that was answered is lost.`,
  ],
  [
    /^(SQLITE_CORRUPT|SQLITE_NOTADB)/,
    (dir, code) => `The database in ${dir} is damaged (${code}). Keep a copy of the directory. ${restore}`,
  ],
  [
    /^(EACCES|EPERM|EROFS|SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM)/,
    (_dir, code, path) =>
      `${path} cannot be read and written by this user (${code}). Check who owns it and whether the disk is mounted read-only, or give another --data-dir.`,
  ],
  [
    /^ENOTDIR$|^EEXIST$/,
    (_dir, _code, path) => `${path} is not a directory. Move it away, or give another --data-dir.`,
  ],
  [/^EFTYPE$/, (_dir, _code, path) => `${path} is a pipe or a device, but must be a file. Move it away.`],
  [
    /^ELOOP$/,
    (_dir, _code, path) => `${path} is a link, but must be a file or a real directory. Move it away.`,
  ],
  [
    /EISDIR$/,
    (dir, _code, path) =>
      `${path === dir ? `One of the files in ${dir}` : path} is a directory, but must be a file. Move it away.`,
  ],
  [
    /^(SQLITE_IOERR|EIO)/,
    (dir, code) => `The disk of ${dir} fails to read or write (${code}). Check the system log.`,
  ],
  [/^SQLITE_BUSY/, (dir) => `Another program has locked the database in ${dir}. Stop it, then start again.`],
]

export class DataDirInUse extends Error {
  override readonly name = 'DataDirInUse'
}

/**
 * SQLite frees the lock even after kill -9, so there are no stale locks. Other users cannot hold it, because they
 * have no access to the directory. @returns a function that releases it
 */
export async function lockDataDir(dataDir: string): Promise<() => void> {
  const path = join(dataDir, lockFile)
  // Somebody may have removed the file of a running daemon, whose lock then has no effect.
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there && !there.isFile())
    throw new DataDirProblem(`${path} is not a file. Remove it: the daemon makes its own.`)
  if (!there && holdersOf(dataDir).length > 0) throw inUse(dataDir)
  const lock = new BetterSqlite3(path, { timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Error && 'code' in error && !String(error.code).startsWith('SQLITE_BUSY'))
      throw error
    throw inUse(dataDir)
  }
  return () => {
    if (lock.open) lock.close()
  }
}

const inUse = (dataDir: string) =>
  new DataDirInUse(`Another tapchipd uses ${dataDir}. Stop it first, or give this one another --data-dir.`)
