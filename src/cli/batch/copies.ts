import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { isBatchId } from '../../values/batch-id.ts'
import { replaceLargeFile } from '../../values/replace-file.ts'
import type { AnswerOf } from '../client/types.ts'
import type { CliContext } from '../context.ts'
import { CliError } from '../errors.ts'
import { fileProblem } from '../file-problem.ts'
import { unpackJournal } from './archive.ts'
import { type Batch, notOfBatch, readBatch } from './history.ts'
import { journalPath, placeOf } from './journal.ts'
import { elsewhere, makeJournalDir } from './journal-file.ts'
import { kindNamed } from './journal-reader.ts'
import type { Kind } from './kind.ts'

const inflate = promisify(inflateRaw)

/** Bytes. */
const largestPiece = 16 * 2 ** 20

type Remote = AnswerOf<'GET /batch-journals'>[number]

/** Batches that the daemon knows: of all teams with an admin token, otherwise of the API key's. Newest first. */
export const remoteBatches = async (ctx: CliContext, query: { id?: string; limit?: number }) => {
  if (ctx.config().adminToken()) return ctx.call('GET /admin/batch-journals', { query })
  ctx.needApiKey()
  return ctx.call('GET /batch-journals', { query })
}

const isAdminKind = (kind: Kind): boolean => kind.isAdmin === true

/**
 * A batch from its journal here, or from the daemon's copy if another machine has run it since.
 * @throws UsageError if there is no such batch; see `readBatch`
 */
export const findBatch = async (
  ctx: CliContext,
  id: string,
  kinds: readonly Kind[],
  skipDamaged = false,
): Promise<Batch> => {
  const read = () => readBatch(ctx.system, id, kinds, skipDamaged)
  if (isBatchId(id)) await unpackJournal(ctx.system, id)
  const isHere = existsSync(journalPath(ctx.system, id))
  // Without a daemon, a journal here is all there is.
  const remote = isBatchId(id) ? await remoteOf(ctx, id, !isHere) : undefined
  const kind = remote && kindNamed(kinds, remote.kind)
  if (!remote || !kind) return read()
  const { lease, host, state } = remote
  // What was run from here is here: the daemon may have less.
  const path = journalPath(ctx.system, id)
  if (!isHere || remote.place !== placeOf(path)) await fetchJournal(ctx, id, isAdminKind(kind))
  const batch = await read()
  // By its kind, the daemon decided who may write it.
  if (batch.kind !== kind) throw notOfBatch(id, path)
  return { ...batch, history: { ...batch.history, copy: { lease, host, state } } }
}

const remoteOf = async (ctx: CliContext, id: string, isNeeded: boolean): Promise<Remote | undefined> => {
  const { adminToken, apiKey } = ctx.config()
  if (!isNeeded && !adminToken() && !apiKey) return undefined
  try {
    return (await remoteBatches(ctx, { id }))[0]
  } catch (error) {
    if (isNeeded) throw error
    return undefined
  }
}

const fetchJournal = async (ctx: CliContext, id: string, isAdmin: boolean): Promise<void> => {
  const path = journalPath(ctx.system, id)
  const client = await ctx.client()
  const key = isAdmin ? 'GET /admin/batch-journals/:id/journal' : 'GET /batch-journals/:id/journal'
  async function* content() {
    // A piece that claims to be small must not fill the memory.
    for await (const { data, bytes } of client.stream(key, { params: { id } }))
      yield await inflate(Buffer.from(data, 'base64'), {
        maxOutputLength: Math.min(bytes, largestPiece),
      }).catch((cause: unknown) => {
        throw new CliError(`The daemon's copy of batch ${id} cannot be read.`, {
          advice: 'Resume it where it was run last, or start it again from its input.',
          cause,
        })
      })
  }
  makeJournalDir(ctx.system)
  await replaceLargeFile(path, content()).catch((error: unknown) => {
    throw fileProblem(error, { path, verb: 'written', advice: elsewhere }) ?? error
  })
}
