import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  promises,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

// Two processes may write the same file. The daemon's next start removes partial files that a kill leaves behind.
const partialOf = (path: string): string => `${path}.${process.pid}.new`

/**
 * Replaces a file atomically, readable only by its owner.
 * @param options `flush`: the file is on disk when this returns
 */
export function replaceFile(path: string, content: string, { flush = false } = {}): void {
  const partial = partialOf(path)
  try {
    const file = openSync(partial, 'w', 0o600)
    try {
      // An existing file keeps its mode when opened.
      fchmodSync(file, 0o600)
      writeFileSync(file, content)
      if (flush) fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(partial, path)
  } catch (error) {
    // The disk may be full, and the partial file takes up space.
    rmSync(partial, { force: true })
    throw error
  }
  // Windows cannot open a folder, and does not need to flush it.
  if (!flush || process.platform === 'win32') return
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Like replaceFile with `flush`, but without blocking: for content of many megabytes. */
export async function replaceLargeFile(
  path: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
): Promise<void> {
  const partial = partialOf(path)
  try {
    await flushed(partial, 'w', async (file) => {
      await file.chmod(0o600)
      await promises.writeFile(file, content)
    })
    await promises.rename(partial, path)
  } catch (error) {
    await promises.rm(partial, { force: true })
    throw error
  }
  if (process.platform !== 'win32') await flushed(dirname(path), 'r', async () => undefined)
}

type File = promises.FileHandle

async function flushed(path: string, flags: string, write: (file: File) => Promise<void>): Promise<void> {
  const file = await promises.open(path, flags, 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}
