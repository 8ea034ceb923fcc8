import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../values/replace-file.ts'

/** What is wrong with the data directory, and what the operator can do about it. */
export class DataDirProblem extends Error {
  override readonly name = 'DataDirProblem'
}

// Written once a first start has come through, so it tells a database that was lost from one that never was.
const marker = 'instance'

const restore =
  'Put a backup back in its place (docs/daemon.md, "When the database is lost or damaged"), ' +
  'or start afresh in another --data-dir.'

/**
 * Closes a data directory to others, who could put keys of theirs into it.
 * @throws DataDirProblem where it is somebody else's and open
 */
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

/**
 * The installation that a data directory has held, undefined before its first start came through.
 * @throws DataDirProblem where its database is gone: a new one in its place would know no chip and no key
 */
export function heldInstance(dataDir: string, databaseFile: string): string | undefined {
  const path = join(dataDir, marker)
  const isMarked = existsSync(path)
  if (!isMarked && !holdsChain(dataDir)) return undefined
  const instance = isMarked ? readFileSync(path, 'utf8').trim() : ''
  const size = statSync(databaseFile, { throwIfNoEntry: false })?.size
  if (size === undefined || size === 0)
    throw new DataDirProblem(
      `${databaseFile} is ${size === undefined ? 'missing' : 'empty'}, and this directory has held data before. ${restore}`,
    )
  return instance === '' ? undefined : instance
}

/** The embedded chain begins after the database, so its state tells of one even where the marker was lost as well. */
const holdsChain = (dataDir: string): boolean => {
  const folder = join(dataDir, 'dev-chain')
  return existsSync(folder) && readdirSync(folder).some((name) => /^(state|sent)-/.test(name))
}

/** Holds a data directory to its installation from now on. @throws DataDirProblem where its database is another's */
export function holdInstance(dataDir: string, held: string | undefined, instance: string): void {
  if (held === instance) return
  if (held !== undefined)
    throw new DataDirProblem(
      `The database in ${dataDir} is not the one that this directory has held (${instance} in place of ${held}). ` +
        `Put the right one back. If this one is meant to be here, remove ${join(dataDir, marker)}.`,
    )
  replaceFile(join(dataDir, marker), `${instance}\n`, { flush: true })
}

/** Removes what a killed daemon was still writing: files that have no name of their own yet, and backups. */
export function removeUnfinished(dataDir: string): void {
  const remove = (folder: string, ours: RegExp) => {
    if (!existsSync(folder)) return
    for (const name of readdirSync(folder))
      if (ours.test(name)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  remove(dataDir, /(\.\d+|\.json|^disk-probe)\.new$/)
  remove(join(dataDir, 'backups'), /^tapchip-.*\.partial$/)
}

/** What a failure of the disk or of the database means to the operator; another error as it is. */
export function dataDirProblem(error: unknown, dataDir: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : undefined
  if (code === '' && cause !== undefined) {
    const known = dataDirProblem(cause, dataDir)
    return known === cause ? error : known
  }
  // An address that may not be listened on is none of its files.
  const isOfNetwork = error instanceof Error && ('address' in error || 'hostname' in error)
  const why = isOfNetwork ? undefined : reasons.find(([codes]) => codes.test(code))?.[1]
  const path = named(error) ?? dataDir
  return why === undefined ? error : new DataDirProblem(why(dataDir, code, path), { cause: error })
}

/** Of a move its end: what it began with was there. */
function named(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('dest' in error && typeof error.dest === 'string') return error.dest
  return 'path' in error && typeof error.path === 'string' ? error.path : undefined
}

/** `path` is what the system names, in the directory or on the way to it. */
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
  [
    /EISDIR$/,
    (dir, _code, path) =>
      `${path === dir ? `One of the files in ${dir}` : path} is a directory, and has to be a file. Move it away.`,
  ],
  [
    /^(SQLITE_IOERR|EIO)/,
    (dir, code) => `The disk of ${dir} fails to read or write (${code}). Look at the system's log.`,
  ],
  [/^SQLITE_BUSY/, (dir) => `Another program holds the database in ${dir} locked. End it, then start again.`],
]
