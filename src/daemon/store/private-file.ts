import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes a file that only its owner may read, whole or not at all, and on disk when this returns. */
export function writePrivateFile(path: string, content: string): void {
  const partial = `${path}.${process.pid}.new`
  const file = openSync(partial, 'w', 0o600)
  try {
    writeFileSync(file, content)
    fsyncSync(file)
  } catch (error) {
    // Half a file takes space that may be what is missing.
    rmSync(partial, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  renameSync(partial, path)
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
