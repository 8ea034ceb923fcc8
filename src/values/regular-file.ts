import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants

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
