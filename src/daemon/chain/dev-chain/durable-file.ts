import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file that only its owner may read, whole or not at all, and on disk when this resolves. */
export async function writeDurably(path: string, content: string | Uint8Array): Promise<void> {
  const partial = `${path}.new`
  try {
    await flushed(partial, 'w', (file) => file.writeFile(content))
  } catch (error) {
    // Half a file takes space that may be what is missing.
    await rm(partial, { force: true })
    throw error
  }
  await rename(partial, path)
  // Windows cannot open a folder, and needs no flush of it.
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
