import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, realpathSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A place for a data directory that can be filled to the last byte. */
export interface SmallDisk {
  readonly path: string
  /** What refused writes are answered with. */
  readonly code: RegExp
  /** Takes all that is left. @param pid of the daemon that lives there; undefined: it is still to be started @param leaving bytes, roughly */
  fill(pid: number | undefined, leaving?: number): void
  /** Gives it back. */
  free(): void
  remove(): void
}

/**
 * A file system of a few megabytes. Where none can be mounted (that takes root, on Linux) another limit of the system
 * stands in for it, and says so: then no file of the daemon can grow, while its chain's and its readers' can.
 */
export function smallDisk(megabytes: number): SmallDisk {
  const path = mkdtempSync(join(realpathSync(tmpdir()), 'tapchip-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tapchip-test', path], {
      stdio: 'pipe',
    })
  } catch {
    process.stderr.write(
      'No small file system can be mounted here: a limit on the size of files is used instead.\n',
    )
    return withoutMount(path)
  }
  const ballast = join(path, 'ballast')
  return {
    path,
    code: /^store_full$/,
    fill(_pid, leaving = 0) {
      const file = openSync(ballast, 'a')
      const left = () => {
        const { bavail, bsize } = statfsSync(path)
        return bavail * bsize - leaving
      }
      try {
        for (let room = left(); room > 0; room = left())
          writeSync(file, Buffer.alloc(Math.min(room, 65_536), 1))
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(ballast, { force: true }),
    remove() {
      execFileSync('umount', ['-l', path], { stdio: 'pipe' })
      rmSync(path, { recursive: true })
    },
  }
}

function withoutMount(path: string): SmallDisk {
  let lift: (() => void) | undefined
  const free = () => {
    lift?.()
    lift = undefined
  }
  return {
    path,
    code: /^store_(full|unavailable)$/,
    fill(pid, leaving = 0) {
      // What a process starts inherits its limits.
      lift = limitFiles(leaving, pid)
    },
    free,
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/**
 * Lets a process write no further than so many bytes into any file: a limit of the system itself, and as much of a full
 * disk as a test can have without being root. @returns a function that lifts it
 */
export function limitFiles(bytes: number, pid = process.pid): () => void {
  const set = (limit: string) =>
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${limit}:`], { stdio: 'pipe' })
  set(String(bytes))
  return () => set('unlimited')
}
