import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import { chainStart } from '../../../values/audit-chain.ts'
import type { SecretBox } from '../data-dir/secret-box.ts'
import type { Queries } from '../database/database.ts'
import { named, statement } from '../database/statement.ts'
import type { AuditHeadTable } from '../schema/schema.ts'
import { whenCommitted } from './effects.ts'

/** The count and the last hash of the audit log, stored separately, so that truncating the log is detected. */
export type AuditHead = Pick<AuditHeadTable, 'entries' | 'lastId' | 'hash'>

/** What a running daemon knows about the log independently of the database. */
export interface AuditSeal {
  readonly box: SecretBox
  readonly key: Uint8Array
  /** The newest head that was sealed here, with its seal, whether committed or not. */
  known: string
  /** The newest head on disk. The log may only grow from there. */
  newest: AuditHead | undefined
  /**
   * Set once the log does not continue from there: sealing has stopped. IDs of the last entry, found and expected.
   */
  broken: { readonly lastId: number; readonly expected: number } | undefined
}

export const auditSeal = (box: SecretBox): AuditSeal => {
  const derived = box.withKey((key) => hkdfSync('sha256', key, '', 'tapchip audit head', 32))
  return { box, key: new Uint8Array(derived), known: '', newest: undefined, broken: undefined }
}

// Kysely transactions keep the adapter of their connection, so it can find the key without passing it to every change.
const seals = new WeakMap<object, AuditSeal>()
/** Undefined: the data key is not available here. */
export const sealOfConnection = (db: Pick<Queries, 'getExecutor'>): AuditSeal | undefined =>
  seals.get(db.getExecutor().adapter)

/**
 * From now on, changes recorded on this connection seal the head with a key derived from the data key. Nobody who
 * edits the database by hand can make such a seal.
 */
export function sealAuditWith(db: Pick<Queries, 'getExecutor'>, seal: AuditSeal): AuditSeal {
  seals.set(db.getExecutor().adapter, seal)
  return seal
}

const textOf = ({ entries, lastId, hash }: AuditHead): string => JSON.stringify([entries, lastId, hash])

const macOf = ({ key }: AuditSeal, text: string): string =>
  createHmac('sha256', key).update(text).digest('hex')

const isMac = (seal: AuditSeal, text: string, mac: string | null): boolean => {
  const expected = Buffer.from(macOf(seal, text))
  const actual = Buffer.from(mac ?? '')
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

const isSealed = (seal: AuditSeal, head: AuditHead, mac: string | null): boolean =>
  textOf(head) + mac === seal.known || isMac(seal, textOf(head), mac)

// Locks the row until the write ends, on engines with concurrent writers, so that each entry has one successor.
const advance = statement<Record<never, never>>()((db) =>
  db
    .updateTable('auditHead')
    .set((e) => ({ entries: e('entries', '+', 1), lastId: e('lastId', '+', 1) }))
    .returningAll(),
)
const finish = statement<{ hash: string; seal: string | null }>()((db, p) =>
  db.updateTable('auditHead').set(named(p, ['hash', 'seal'])),
)

/**
 * Adds an entry in the same write. @param append stores the entry with this ID and previous hash, and returns its
 * hash @returns the head if the write is committed
 */
export async function extendAudit(
  db: Queries,
  append: (id: number, previous: string) => Promise<string>,
): Promise<AuditHead> {
  const head = await advance.first(db, {})
  if (!head) throw new Error('The head of the audit log is missing from the database: restore a backup')
  const { entries, lastId, seal: mac } = head
  const hash = await append(lastId, head.hash)
  const next = { entries, lastId, hash }
  const before = { entries: entries - 1, lastId: lastId - 1, hash: head.hash }
  const seal = sealOfConnection(db)
  if (seal) breakIfRolledBack(seal, before)
  // A head written by somebody else keeps its invalid seal, whatever is appended.
  const made = seal && !seal.broken && isSealed(seal, before, mac) ? macOf(seal, textOf(next)) : mac
  if (seal && made !== mac) {
    seal.known = textOf(next) + made
    whenCommitted(db, () => remember(seal, next))
  }
  await finish.run(db, { hash, seal: made })
  return next
}

function breakIfRolledBack(seal: AuditSeal, { lastId, hash }: AuditHead): void {
  const { newest } = seal
  if (newest && (lastId < newest.lastId || (lastId === newest.lastId && hash !== newest.hash)))
    seal.broken ??= { lastId, expected: newest.lastId }
}

function remember(seal: AuditSeal, head: AuditHead): void {
  if (head.lastId > (seal.newest?.lastId ?? -1)) seal.newest = head
}

const entryAt = statement<{ id: number }>()((db, p) =>
  db.selectFrom('audit').select('hash').where('id', '=', p.id),
)
const hasEntry = async (db: Queries, { lastId, hash }: AuditHead): Promise<boolean> =>
  (await entryAt.first(db, { id: lastId }))?.hash === hash || (lastId === 0 && hash === chainStart)

/** Checks that the log continues from the newest head this daemon knows; otherwise sets `seal.broken`. */
export async function checkAuditHead(db: Queries, seal: AuditSeal): Promise<void> {
  // Read before the head, which may only be newer.
  const { newest } = seal
  const { isSealed: isOurs, ...head } = await readAuditHead(db, seal.box)
  if (seal.broken) return
  const isBack = newest !== undefined && (head.lastId < newest.lastId || !(await hasEntry(db, newest)))
  if (isBack || !isOurs || !(await hasEntry(db, head)))
    seal.broken = { lastId: head.lastId, expected: Math.max(newest?.lastId ?? 0, head.lastId) }
  else remember(seal, head)
}

const sinceText = (at: string): string => JSON.stringify(['since', at])

/** Proves when sealing began. */
const since = (seal: AuditSeal, at: string) => ({
  sealedSince: at,
  sinceSeal: macOf(seal, sinceText(at)),
})

/** The head of a log without entries. Without the data key, it has no seal. @param at when sealing begins */
export async function beginAuditHead(db: Kysely<unknown>, at: string): Promise<void> {
  const seal = sealOfConnection(db)
  const head = { entries: 0, lastId: 0, hash: chainStart }
  const sealed = seal ? { seal: macOf(seal, textOf(head)), ...since(seal, at) } : {}
  await db
    .withTables<{ auditHead: AuditHeadTable }>()
    .insertInto('auditHead')
    .values({ id: 1, ...head, seal: null, sealedSince: null, sinceSeal: null, ...sealed })
    .execute()
}

/**
 * Seals the log in its current state, whoever wrote it; its last entry records that.
 * @param at when sealing begins
 */
export async function reseal(db: Queries, at: string): Promise<void> {
  const seal = sealOfConnection(db)
  const head = await db.selectFrom('auditHead').selectAll().executeTakeFirst()
  if (!seal || !head) return
  await db
    .updateTable('auditHead')
    .set({ seal: macOf(seal, textOf(head)), ...since(seal, at) })
    .execute()
}

interface SealedHead extends AuditHead {
  /** True if the data key sealed the head. */
  isSealed: boolean
  /** Null: there is no valid seal. */
  sealedSince: string | null
}

export async function readAuditHead(db: Queries, box: SecretBox): Promise<SealedHead> {
  const row = await db.selectFrom('auditHead').selectAll().executeTakeFirst()
  if (!row) return { entries: 0, lastId: 0, hash: chainStart, isSealed: false, sealedSince: null }
  const { entries, lastId, hash, seal: mac, sealedSince, sinceSeal } = row
  const head = { entries, lastId, hash }
  const seal = auditSeal(box)
  const hasSealedSince = sealedSince !== null && isMac(seal, sinceText(sealedSince), sinceSeal)
  return {
    ...head,
    isSealed: hasSealedSince && isSealed(seal, head, mac),
    sealedSince: hasSealedSince ? sealedSince : null,
  }
}
