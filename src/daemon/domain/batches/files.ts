import { createHash } from 'node:crypto'
import { ImageJudge } from '../../../values/image.ts'
import { insertBatchFile } from '../../store/batches/batch-files.ts'
import { addBatchBytes, changeBatch } from '../../store/batches/batches.ts'
import { imageRefusal } from '../badge-events/image.ts'
import { conflict, invalid } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { assertBegan, type BatchCaller, batchToRun } from './batches.ts'
import type { BatchDeps } from './kind.ts'
import { assertRoom, sealFile } from './pieces.ts'

type Bytes = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

const states = ['uploading'] as const

/**
 * Stores an image that rows refer to. An existing one stays.
 * @param hash SHA-256, in hex @throws DomainError not_found, scope_missing, conflict, invalid_input,
 * unsupported_media_type, too_large
 */
export async function uploadFile(
  deps: Pick<BatchDeps, 'db' | 'clock' | 'box'>,
  caller: BatchCaller,
  idOrName: string,
  { hash, bytes }: { hash: string; bytes: Bytes },
): Promise<void> {
  const { db, box, clock } = deps
  const { batch, kind } = await batchToRun(db.read, caller, idOrName)
  assertBegan(caller, batch)
  const { id, teamId } = batch
  if (!kind.hasFiles) throw conflict(`A batch of ${batch.kind} has no files.`)
  const data = await received(bytes)
  if (data.hash !== hash) throw invalid('hash', `is not that of the file, which is ${data.hash}`)
  const sealed = sealFile(box, id, hash, data.content)
  const at = iso(clock.now())
  await db.write(async (trx) => {
    if (!(await changeBatch(trx, id, { states }, { touchedAt: at })))
      throw conflict(`Batch ${id} accepts no more files: it is no longer being uploaded.`)
    if (!(await insertBatchFile(trx, { batchId: id, hash, type: data.type, data: sealed }))) return
    await assertRoom(trx, teamId, sealed.length)
    await addBatchBytes(trx, id, sealed.length)
  })
}

/** An image is checked as it arrives, so that memory never holds more than the maximum size. */
async function received(bytes: Bytes) {
  const judge = new ImageJudge()
  const sum = createHash('sha256')
  const chunks: Uint8Array[] = []
  for await (const chunk of bytes) {
    const flaw = judge.push(chunk)
    if (flaw) throw imageRefusal(flaw)
    sum.update(chunk)
    chunks.push(chunk)
  }
  const judged = judge.end()
  if (judged.kind !== 'image') throw imageRefusal(judged)
  return { hash: sum.digest('hex'), type: judged.type, content: Buffer.concat(chunks) }
}
