import { createHash } from 'node:crypto'
import { firstChangeOfBatch, recordChange } from '../store/audit.ts'
import {
  type BatchJournalRow,
  deleteBatch,
  emptyBatch,
  findBatch,
  hearBatch,
  insertBatch,
  insertChunk,
  listBatches,
  nextChunk,
  takeBatch,
} from '../store/batch-journals.ts'
import type { Db, Queries } from '../store/database.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { assertMayRun, assertMayWrite, type BatchCaller } from './batch-rights.ts'
import { assertRoom, largest } from './batch-room.ts'
import { DomainError, notFound } from './errors.ts'
import { type Clock, iso } from './time.ts'

/** A process that has not been heard for so long may be replaced. */
export const silentAfterMs = 20_000

type Deps = { db: Db; clock: Clock; box: SecretBox }

async function ownBatch(db: Queries, { teamId }: BatchCaller, id: string): Promise<BatchJournalRow> {
  const batch = await findBatch(db, id)
  if (!batch || (teamId !== undefined && batch.teamId !== teamId)) throw notFound('batch')
  return batch
}

const hashOf = (holder: string): string => createHash('sha256').update(holder).digest('hex')

const isSilent = ({ heardAt }: BatchJournalRow, now: number): boolean =>
  Math.abs(now - Date.parse(heardAt)) > silentAfterMs

/** Newest first. A process that has not been heard for a while counts as stopped. */
export async function listOwnBatches(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  filter: { teamId: number | undefined; id?: string | undefined; limit: number },
) {
  const now = clock.now()
  const rows = await listBatches(db.read, filter)
  return rows.map((batch) => ({
    ...batch,
    state: batch.state === 'running' && isSilent(batch, now) ? ('stopped' as const) : batch.state,
  }))
}

/**
 * Makes the caller the one process that runs a batch, which is new if the daemon does not know it.
 * @throws DomainError batch_running, not_found, too_large, scope_missing
 */
export async function holdBatch(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  caller: BatchCaller,
  id: string,
  asked: {
    kind: string
    total: number
    startedAt: string
    host: string
    place: string
    context: string | null
    holder: string
    takeOver: boolean
    gone?: number | undefined
    length?: number | undefined
  },
): Promise<{ lease: number; length: number }> {
  assertMayRun(caller)
  const { actor, teamId = null } = caller
  const { takeOver, kind, total, startedAt } = asked
  const now = clock.now()
  const held = {
    host: asked.host,
    place: asked.place,
    context: asked.context,
    holder: hashOf(asked.holder),
    heardAt: iso(now),
  }
  return db.write(async (trx) => {
    if (!(await findBatch(trx, id))) {
      assertMayWrite(caller, { id, kind, startedBy: actor.name })
      await assertRoom(trx, teamId)
      const counts = { done: 0, failed: 0, total, length: 0, stored: 0 }
      const about = { id, teamId, kind, startedAt, startedBy: actor.name, ...counts }
      const isNew = await insertBatch(trx, { ...held, ...about, state: 'running', lease: 1 })
      if (isNew) return { lease: 1, length: 0 }
    }
    const before = await ownBatch(trx, caller, id)
    assertMayWrite(caller, before)
    const { gone = 0 } = asked
    const unheard = takeOver ? undefined : { ...unheardAt(now), gone }
    if (!(await takeBatch(trx, id, held, unheard)))
      throw running(before, now, 'It can be resumed elsewhere once')
    if ((asked.length ?? before.length) < before.length) await emptyBatch(trx, id)
    const { host, lease, length, state } = await ownBatch(trx, caller, id)
    if (state === before.state) {
      const detail = { from: before.host, to: host }
      await recordChange(trx, {
        at: iso(now),
        actor: { ...actor, batch: id },
        teamId: before.teamId,
        action: 'batches.take-over',
        target: id,
        detail,
      })
    }
    return { lease, length }
  })
}

const unheardAt = (now: number) => ({ since: iso(now - silentAfterMs), until: iso(now + silentAfterMs) })

function running({ id, host, heardAt }: BatchJournalRow, now: number, next: string): DomainError {
  const seconds = Math.max(0, Math.round((now - Date.parse(heardAt)) / 1000))
  return new DomainError(
    'batch_running',
    `Batch ${id} is running on ${host}, which was last heard ${seconds} s ago. ${next} it has been silent for ${silentAfterMs / 1000} s.`,
  )
}

/**
 * Deletes the copy of the journal, which makes room for others of the team.
 * @throws DomainError batch_running, not_found, scope_missing
 */
export async function removeBatch(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  caller: BatchCaller,
  id: string,
): Promise<void> {
  assertMayRun(caller)
  const now = clock.now()
  await db.write(async (trx) => {
    const batch = await ownBatch(trx, caller, id)
    assertMayWrite(caller, batch)
    if (!(await deleteBatch(trx, id, unheardAt(now))))
      throw running(batch, now, 'It can be removed once it has stopped, or')
    const { teamId, kind, startedAt, startedBy } = batch
    const detail = { kind, startedAt, startedBy }
    const entry = { at: iso(now), actor: caller.actor, teamId, target: id, detail }
    await recordChange(trx, { ...entry, action: 'batches.delete' })
  })
}

/**
 * Appends to the journal, and tells that the process is alive. Sent again, it changes nothing.
 * @param chunk deflated; absent to tell only the progress
 * @throws DomainError batch_taken, conflict, not_found, too_large, scope_missing
 */
export async function appendToBatch(
  { db, clock, box }: Deps,
  caller: BatchCaller,
  id: string,
  {
    holder,
    state,
    done,
    failed,
    chunk,
  }: {
    holder: string
    state: 'running' | 'stopped' | 'done'
    done: number
    failed: number
    chunk: { offset: number; bytes: number; data: Uint8Array } | undefined
  },
): Promise<{ length: number }> {
  assertMayRun(caller)
  const data = chunk && box.seal(chunk.data, contextOf(id, chunk.offset))
  const heard = { id, holder: hashOf(holder), state, done, failed, heardAt: iso(clock.now()) }
  return db.write(async (trx) => {
    const before = await ownBatch(trx, caller, id)
    if (before.holder !== heard.holder) throw taken(before)
    if (chunk === undefined || data === undefined) {
      if (await hearBatch(trx, heard, undefined)) return { length: before.length }
      throw taken(before)
    }
    const { offset, bytes } = chunk
    if (before.length === offset + bytes) return { length: before.length }
    if (before.stored + data.length > largest.stored || offset + bytes > largest.length)
      throw new DomainError('too_large', `The journal of batch ${id} is too large to be kept here.`)
    // Many that were begun while there was room may grow at the same time.
    await assertRoom(trx, before.teamId, data.length)
    if (!(await hearBatch(trx, heard, { offset, bytes, stored: data.length })))
      throw new DomainError(
        'conflict',
        `The journal of batch ${id} ends at ${before.length}, not at ${offset}.`,
      )
    await insertChunk(trx, { batchId: id, offset, bytes, data })
    return { length: offset + bytes }
  })
}

/**
 * The batch that a request says it belongs to, for the audit log. One of another team's is left out: whoever reads that
 * batch's changes would see this one among them.
 * @param caller `teamId` is null for a caller without a team, and undefined for an admin token
 * @param lease what the caller held the batch by @throws DomainError batch_taken if it has begun again since
 */
export async function batchOfRequest(
  { db }: { db: Pick<Db, 'read'> },
  { teamId }: { teamId: number | null | undefined },
  { id, lease }: { id: string; lease: number | undefined },
): Promise<string | undefined> {
  const batch = await findBatch(db.read, id)
  // The daemon may keep no copy of it, or no longer.
  const owner = batch ?? (await firstChangeOfBatch(db.read, id))
  if (owner && teamId !== undefined && owner.teamId !== teamId) return undefined
  if (batch && lease !== undefined && batch.lease > lease) throw taken(batch)
  return id
}

const taken = ({ id, host }: BatchJournalRow): DomainError =>
  new DomainError('batch_taken', `Batch ${id} was taken over, and is running on ${host}.`)

const contextOf = (id: string, offset: number): string => `batch ${id} ${offset}`

/** @throws DomainError not_found, scope_missing */
export async function readJournal({ db, box }: Pick<Deps, 'db' | 'box'>, caller: BatchCaller, id: string) {
  assertMayRun(caller)
  await ownBatch(db.read, caller, id)
  return chunksOf({ db, box }, id)
}

async function* chunksOf({ db, box }: Pick<Deps, 'db' | 'box'>, id: string) {
  let from = 0
  for (;;) {
    const chunk = await nextChunk(db.read, id, from)
    if (!chunk) return
    const { offset, bytes } = chunk
    yield { offset, bytes, data: box.open(chunk.data, contextOf(id, offset)) }
    from = offset + bytes
  }
}
