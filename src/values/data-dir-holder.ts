import { existsSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'

/** In a data directory. Its daemon keeps it open, and locked. */
export const lockFile = 'daemon.lock'

/**
 * Whether a process keeps the lock file of a data directory open, even if somebody has removed the file since.
 * @returns undefined if the system does not tell
 */
export function holdsDataDir(pid: number, dataDir: string): boolean | undefined {
  const dir = `/proc/${pid}/fd`
  try {
    // Other users can make a file of theirs look as if it stood at any path, in a namespace of their own.
    const there = statSync(dataDir, { throwIfNoEntry: false })
    if (![0, there?.uid ?? process.getuid?.()].includes(statSync(`/proc/${pid}`).uid)) return false
    const file = `${there ? realpathSync(dataDir) : dataDir}/${lockFile}`
    return readdirSync(dir).some((fd) => isLinkTo(`${dir}/${fd}`, file))
  } catch {
    return undefined
  }
}

function isLinkTo(link: string, file: string): boolean {
  try {
    return readlinkSync(link).replace(/ \(deleted\)$/, '') === file
  } catch {
    return false
  }
}

/** Process ids, whoever started them. Works on Linux only. */
export const holdersOf = (dataDir: string): number[] =>
  existsSync('/proc/self/fd')
    ? readdirSync('/proc')
        .map(Number)
        .filter((pid) => pid > 1 && holdsDataDir(pid, dataDir))
    : []
