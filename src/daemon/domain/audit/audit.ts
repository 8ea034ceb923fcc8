import { beginsAnew, ChainCheck, chainStart } from '../../../values/audit-chain.ts'
import { type JsonObject, parseObject } from '../../../values/json.ts'
import { pagesOf } from '../../../values/time-slices.ts'
import {
  type AuditRow,
  auditAfter,
  firstChangeOfBatch,
  hasEntriesBehindHead,
  lastAuditBefore,
} from '../../store/audit/audit.ts'
import { type AuditHead, readAuditHead } from '../../store/audit/audit-head.ts'
import { type AuditFilter, firstEntrySince, listAudit } from '../../store/audit/audit-list.ts'
import { findBatch } from '../../store/batches/batches.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'

interface RecordedChange extends Omit<AuditRow, 'detail'> {
  detail: JsonObject
}

interface ChangeFilter extends Omit<AuditFilter, 'actors' | 'since'> {
  /** As in the log: `key:ops`. */
  actor?: string | undefined
  /** The same, or the plain name of a key, a token, or an owner. */
  by?: string | undefined
  since?: string | undefined
}

/** The log keeps the names of revoked credentials. */
function actorsOf(actor: string | undefined, by: string | undefined): string[] | undefined {
  if (by === undefined) return actor === undefined ? undefined : [actor]
  const named = [by, `key:${by}`, `admin:${by}`, `owner:${by}`]
  return actor === undefined ? named : named.filter((one) => one === actor)
}

/** Newest first. */
export async function* listChanges(
  { db }: { db: Pick<Db, 'slow'> },
  { actor, by, since: at, ...rest }: ChangeFilter,
): AsyncGenerator<RecordedChange> {
  const firstId = at === undefined ? undefined : await firstEntrySince(db.slow, at)
  if (at !== undefined && firstId === undefined) return
  const filter: AuditFilter = {
    ...rest,
    actors: actorsOf(actor, by),
    since: at !== undefined && firstId !== undefined ? { at, firstId } : undefined,
  }
  const page = (last: AuditRow | undefined, limit: number) =>
    listAudit(db.slow, { ...filter, before: last?.id ?? filter.before, limit })
  let left = filter.limit
  // The detail of a batch may be long.
  for await (const row of pagesOf(page, { min: 20, max: 20 })) {
    yield { ...row, detail: parseObject(row.detail) ?? {} }
    left -= 1
    if (left === 0) return
  }
}

type ReadDeps = { db: Pick<Db, 'read' | 'slow'>; box: SecretBox }

/** The number of entries, and the hash of the last one. */
export const auditHead = ({ db, box }: ReadDeps): Promise<AuditHead> => readAuditHead(db.read, box)

export interface AuditVerdict {
  ok: boolean
  /** The expected number of entries. */
  entries: number
  head: string
  /** When the data key began to seal the log; null if there is no valid seal. */
  sealedSince: string | null
  /** When a restore resealed a log with a broken seal: older entries are unproven. */
  beganAnew: string[]
  /** The ID of the first entry that was changed or is missing; with a false head, the one after the last. */
  firstBad?: number
  /** The ID of the entry with the expected hash; null if there is none. */
  expectedAt?: number | null
}

const progressEvery = 10_000

/** Yields the number of entries that were checked so far, and finally the verdict. */
export async function* verifyAudit(
  { db, box }: ReadDeps,
  expected: string | undefined,
): AsyncGenerator<{ checked: number } | AuditVerdict> {
  const head = await readAuditHead(db.slow, box)
  const check = new ChainCheck()
  let expectedAt = expected === chainStart ? 0 : null
  const beganAnew: string[] = []
  for await (const row of entriesUpTo(db, head.lastId, Number.MIN_SAFE_INTEGER)) {
    if (!check.take(row)) break
    if (check.hash === expected) expectedAt = row.id
    if (beginsAnew(row.action, parseObject(row.detail))) beganAnew.push(row.at)
    if (check.entries % progressEvery === 0) yield { checked: check.entries }
  }
  check.end(head)
  if (!head.isSealed || (await hasEntriesBehindHead(db.slow))) check.firstBad ??= check.lastId + 1
  const { firstBad } = check
  yield {
    ok: firstBad === undefined && (expected === undefined || expectedAt !== null),
    entries: head.entries,
    head: head.hash,
    // The time of an entry may be before that of an earlier one, if the clock was set back.
    sealedSince: [head.sealedSince, ...beganAnew].reduce((last, at) =>
      last !== null && at !== null && at > last ? at : last,
    ),
    beganAnew,
    ...(firstBad === undefined ? {} : { firstBad }),
    ...(expected === undefined ? {} : { expectedAt }),
  }
}

/** The first line, before the entries. */
export interface ExportHead {
  format: 'tapchip-audit'
  version: 1
  /** The previous hash of the first entry. */
  previous: { id: number; hash: string }
  /** The hash of the last entry. */
  head: string
  sealedSince: string | null
}

/** Oldest first. @param since leaves out everything up to the last older entry */
export async function* exportAudit(
  { db, box }: ReadDeps,
  since: string | undefined,
): AsyncGenerator<ExportHead | RecordedChange> {
  const { hash: head, lastId, sealedSince } = await readAuditHead(db.slow, box)
  const before = since === undefined ? undefined : await lastAuditBefore(db.slow, since)
  const previous = { id: before?.id ?? 0, hash: before?.hash ?? chainStart }
  yield { format: 'tapchip-audit', version: 1, previous, head, sealedSince }
  for await (const row of entriesUpTo(db, lastId, previous.id))
    yield { ...row, detail: parseObject(row.detail) ?? {} }
}

// The detail of a batch may be long.
const entriesUpTo = (db: Pick<Db, 'slow'>, until: number, after: number): AsyncGenerator<AuditRow> =>
  pagesOf(
    (last: AuditRow | undefined, limit) => auditAfter(db.slow, { after: last?.id ?? after, until, limit }),
    { min: 20, max: 200 },
  )

/** Returns the batch that a request names, unless it belongs to another team. @param teamId undefined: any team */
export async function batchOfRequest(
  { db }: { db: Pick<Db, 'read'> },
  teamId: number | null | undefined,
  id: string,
): Promise<string | undefined> {
  if (teamId === undefined) return id
  // A box of chips exists only in the log.
  const owner = (await findBatch(db.read, id)) ?? (await firstChangeOfBatch(db.read, id))
  return owner && owner.teamId !== teamId ? undefined : id
}
