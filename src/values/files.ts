import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  promises,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants

/**
 * Opens a file to read, and nothing else: a pipe in its place would keep the reader waiting for ever.
 * @param followsLinks false where somebody else may have put a link there @throws Error with the code EISDIR or EFTYPE
 */
export const openRegular = (path: string, { followsLinks = true } = {}): number =>
  regular(path, openSync(path, O_RDONLY | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW)))

/** @throws as openRegular */
export function readRegularBytes(path: string): Buffer {
  const file = openRegular(path)
  try {
    return readFileSync(file)
  } finally {
    closeSync(file)
  }
}

/** @throws as openRegular */
export const readRegular = (path: string): string => readRegularBytes(path).toString()

/** Opens a file to append to, or makes it, readable by its owner alone. A link in its place is not followed. @throws as openRegular */
export const openToAppend = (path: string): number =>
  regular(path, openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOFOLLOW, 0o600))

function regular(path: string, file: number): number {
  const stats = fstatSync(file)
  if (stats.isFile()) return file
  closeSync(file)
  const [code, what] = stats.isDirectory() ? ['EISDIR', 'a directory'] : ['EFTYPE', 'a pipe or a device']
  throw Object.assign(new Error(`${code}: ${path} is ${what}, not a file`), { code, path, syscall: 'open' })
}

/** A new file, or none: whoever may write to the folder cannot have it written somewhere else by a link. */
export const newFileFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

/**
 * A name beside a file that nobody can have taken before. The daemon's next start removes the partial files that a kill
 * leaves behind.
 */
export const partialOf = (path: string): string =>
  // Commands that write no file start faster without node:crypto.
  `${path}.${globalThis.crypto.randomUUID().replaceAll('-', '')}.new`

export const isPartial = (name: string): boolean => /(\.([0-9a-f]+|json)|^disk-probe)\.new$/.test(name)

/**
 * Replaces a file atomically, readable only by its owner.
 * @param options `flush`: the file is on disk when this returns
 */
export function replaceFile(path: string, content: string, { flush = false } = {}): void {
  const partial = partialOf(path)
  try {
    const file = openSync(partial, newFileFlags, 0o600)
    try {
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
    await flushed(partial, newFileFlags, (file) => promises.writeFile(file, content))
    await promises.rename(partial, path)
  } catch (error) {
    await promises.rm(partial, { force: true })
    throw error
  }
  if (process.platform !== 'win32') await flushed(dirname(path), 'r', async () => undefined)
}

type File = promises.FileHandle

async function flushed(
  path: string,
  flags: string | number,
  write: (file: File) => Promise<void>,
): Promise<void> {
  const file = await promises.open(path, flags, 0o600)
  try {
    await write(file)
    await file.sync()
  } finally {
    await file.close()
  }
}
