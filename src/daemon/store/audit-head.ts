import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import { chainStart } from '../../values/audit-chain.ts'
import type { Queries } from './database.ts'
import type { AuditHeadTable } from './schema.ts'
import type { SecretBox } from './secret-box.ts'
import { named, statement } from './statement.ts'

/** The count and the last hash of the audit log, kept apart from it, so that a log that was cut off does not fit. */
export type AuditHead = Omit<AuditHeadTable, 'id' | 'seal'>

interface Sealer {
  readonly key: Uint8Array
  /** The newest head that was sealed here, with its seal. */
  known: string
}

const sealerBy = (box: SecretBox): Sealer => {
  const derived = box.withKey((key) => hkdfSync('sha256', key, '', 'tapchip audit head', 32))
  return { key: new Uint8Array(derived), known: '' }
}

// Kysely transactions keep the adapter of their connection, so it can find the key without passing it to every change.
const sealers = new WeakMap<object, Sealer>()
const sealerOf = (db: Pick<Queries, 'getExecutor'>): Sealer | undefined =>
  sealers.get(db.getExecutor().adapter)

/**
 * From now on, changes that are recorded on this connection seal the head by a key that is derived from the data key.
 * Whoever edits the database by hand cannot make such a seal.
 */
export function sealAuditWith(db: Pick<Queries, 'getExecutor'>, box: SecretBox): void {
  sealers.set(db.getExecutor().adapter, sealerBy(box))
}

const textOf = ({ entries, lastId, hash }: AuditHead): string => JSON.stringify([entries, lastId, hash])

const sealOf = ({ key }: Sealer, head: AuditHead): string =>
  createHmac('sha256', key).update(textOf(head)).digest('hex')

function isSealed(sealer: Sealer, head: AuditHead, seal: string | null): boolean {
  if (textOf(head) + seal === sealer.known) return true
  const expected = Buffer.from(sealOf(sealer, head))
  const given = Buffer.from(seal ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

// Locks the row until the write ends, on engines that write at the same time, so that each entry has one successor.
const advance = statement<Record<never, never>>()((db) =>
  db
    .updateTable('auditHead')
    .set((e) => ({ entries: e('entries', '+', 1), lastId: e('lastId', '+', 1) }))
    .returningAll(),
)
const finish = statement<{ hash: string; seal: string | null }>()((db, p) =>
  db.updateTable('auditHead').set(named(p, ['hash', 'seal'])),
)

/** Adds an entry in the same write. @param append stores the entry under the ID, after the previous hash, and returns its own */
export async function extendAudit(
  db: Queries,
  append: (id: number, previous: string) => Promise<string>,
): Promise<void> {
  const head = await advance.first(db, {})
  if (!head) throw new Error('The head of the audit log is missing from the database: restore a backup')
  const { entries, lastId, seal } = head
  const hash = await append(lastId, head.hash)
  const next = { entries, lastId, hash }
  const before = { entries: entries - 1, lastId: lastId - 1, hash: head.hash }
  const sealer = sealerOf(db)
  // A head that somebody else wrote stays without a valid seal, whatever comes after it.
  const made = sealer && isSealed(sealer, before, seal) ? sealOf(sealer, next) : seal
  if (sealer && made !== seal) sealer.known = textOf(next) + made
  await finish.run(db, { hash, seal: made })
}

/** The first head, of the entries that there already are. */
export async function beginAuditHead(db: Kysely<unknown>, head: AuditHead): Promise<void> {
  const sealer = sealerOf(db)
  const seal = sealer ? sealOf(sealer, head) : null
  await db
    .withTables<{ auditHead: AuditHeadTable }>()
    .insertInto('auditHead')
    .values({ id: 1, ...head, seal })
    .execute()
}

/** @returns also whether the data key sealed it */
export async function readAuditHead(db: Queries, box: SecretBox): Promise<AuditHead & { isSealed: boolean }> {
  const row = await db.selectFrom('auditHead').selectAll().executeTakeFirst()
  if (!row) return { entries: 0, lastId: 0, hash: chainStart, isSealed: false }
  const { entries, lastId, hash, seal } = row
  const head = { entries, lastId, hash }
  return { ...head, isSealed: isSealed(sealerBy(box), head, seal) }
}
