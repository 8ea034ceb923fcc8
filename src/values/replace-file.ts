import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

// Two processes may write the same file. What a kill leaves behind is removed at the daemon's next start.
const partialOf = (path: string): string => `${path}.${process.pid}.new`

/**
 * Writes a file that only its owner may read, whole or not at all.
 * @param options `flush`: it is on disk when this returns
 */
export function replaceFile(path: string, content: string, { flush = false } = {}): void {
  const partial = partialOf(path)
  try {
    const file = openSync(partial, 'w', 0o600)
    try {
      // One that was there keeps its own mode.
      fchmodSync(file, 0o600)
      writeFileSync(file, content)
      if (flush) fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(partial, path)
  } catch (error) {
    // Half a file takes space that may be what is missing.
    rmSync(partial, { force: true })
    throw error
  }
  // Windows cannot open a folder, and needs no flush of it.
  if (!flush || process.platform === 'win32') return
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** As replaceFile with `flush`, without holding anything up: for content of many megabytes. */
export async function replaceLargeFile(path: string, content: string | Uint8Array): Promise<void> {
  const partial = partialOf(path)
  try {
    await flushed(partial, 'w', async (file) => {
      await file.chmod(0o600)
      await file.writeFile(content)
    })
    await rename(partial, path)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
  if (process.platform !== 'win32') await flushed(dirname(path), 'r', async () => undefined)
}

type File = Awaited<ReturnType<typeof open>>

async function flushed(path: string, flags: string, write: (file: File) => Promise<void>): Promise<void> {
  const file = await open(path, flags, 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}
