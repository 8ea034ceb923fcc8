import { findBatchFile } from '../../store/batches/batch-files.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Queries } from '../../store/database/database.ts'

const contextOf = (id: string, hash: string): string => `batch ${id} file ${hash}`

export const sealFile = (box: SecretBox, id: string, hash: string, content: Uint8Array): Buffer =>
  box.seal(content, contextOf(id, hash))

/** @returns undefined if it was not uploaded */
export async function openFile(
  { db, box }: { db: { read: Queries }; box: SecretBox },
  id: string,
  hash: string,
): Promise<{ type: string; content: Buffer } | undefined> {
  const file = await findBatchFile(db.read, id, hash)
  return file && { type: file.type, content: box.open(file.data, contextOf(id, hash)) }
}
