import type { Selectable } from 'kysely'
import { hashOfEntry } from '../../../values/audit-chain.ts'
import type { Queries } from '../database/database.ts'
import { named, statement } from '../database/statement.ts'
import type { AuditTable } from '../schema/schema.ts'
import { type AuditHead, extendAudit } from './audit-head.ts'
import { noteActor } from './effects.ts'

export interface Actor {
  /** `admin:NAME`, `key:NAME`, `seed` or `daemon`. */
  readonly name: string
  readonly requestId: string | null
  /** The batch that the request belongs to, as the CLI named it. */
  readonly batch?: string | undefined
}

export interface Change {
  at: string
  actor: Actor
  teamId: number | null
  /** A noun and a verb: `chips.edit`. */
  action: string
  target: string
  /** Must not contain keys, codes, or tokens. */
  detail?: Record<string, unknown>
}

const insert = statement<Omit<AuditRow, 'team'>>()((db, p) =>
  db
    .insertInto('audit')
    .values(
      named(p, ['id', 'at', 'actor', 'teamId', 'action', 'target', 'detail', 'requestId', 'batch', 'hash']),
    ),
)

/** Call it in the transaction of the change, so that both are stored or neither. @returns the head after it */
export async function recordChange(db: Queries, { actor, detail, ...change }: Change): Promise<AuditHead> {
  noteActor(db, actor)
  const { name, requestId, batch = null } = actor
  const entry = { ...change, actor: name, requestId, batch, detail: JSON.stringify(detail ?? {}) }
  return extendAudit(db, async (id, previous) => {
    const hash = hashOfEntry(previous, { id, ...entry })
    await insert.run(db, { id, ...entry, hash })
    return hash
  })
}

export interface AuditFilter {
  teamId?: number | undefined
  /** A noun and a verb, or only a noun to match all its verbs. */
  action?: string | undefined
  actor?: string | undefined
  batch?: string | undefined
  since?: string | undefined
  before?: number | undefined
  limit: number
}

export type AuditRow = Selectable<AuditTable> & { team: string | null }

/** Newest first. `team` is null for deleted teams. */
export function listAudit(db: Queries, filter: AuditFilter): Promise<AuditRow[]> {
  const { teamId, action, actor, batch, since, before } = filter
  let query = db
    .selectFrom('audit')
    .leftJoin('teams', 'teams.id', 'audit.teamId')
    .selectAll('audit')
    .select('teams.name as team')
    .orderBy('audit.id', 'desc')
    .limit(filter.limit)
  if (teamId !== undefined) query = query.where('audit.teamId', '=', teamId)
  if (action?.includes('.')) query = query.where('audit.action', '=', action)
  else if (action !== undefined) {
    // Not LIKE, which ignores case only on SQLite.
    query = query.where('audit.action', '>', `${action}.`).where('audit.action', '<', `${action}/`)
  }
  if (actor !== undefined) query = query.where('audit.actor', '=', actor)
  if (batch !== undefined) query = query.where('audit.batch', '=', batch)
  if (since !== undefined) query = query.where('audit.at', '>=', since)
  if (before !== undefined) query = query.where('audit.id', '<', before)
  return query.execute()
}

/** In order, to verify the hash chain. @param until the last ID */
export const auditAfter = (
  db: Queries,
  { after, until, limit }: { after: number; until: number; limit: number },
): Promise<AuditRow[]> =>
  db
    .selectFrom('audit')
    .leftJoin('teams', 'teams.id', 'audit.teamId')
    .selectAll('audit')
    .select('teams.name as team')
    .where('audit.id', '>', after)
    .where('audit.id', '<=', until)
    .orderBy('audit.id')
    .limit(limit)
    .execute()

/** @returns true if there is an entry after the last one that was recorded */
export const hasEntriesBehindHead = async (db: Queries): Promise<boolean> =>
  (await db
    .selectFrom('audit')
    .select('id')
    .where('id', '>', (e) => e.selectFrom('auditHead').select('lastId'))
    .limit(1)
    .executeTakeFirst()) !== undefined

/** The last entry before a time, by its ID. */
export const lastAuditBefore = (db: Queries, at: string) =>
  db
    .selectFrom('audit')
    .select(['id', 'hash'])
    .where('at', '<', at)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()

const firstOfBatch = statement<{ batch: string }>()((db, p) =>
  db.selectFrom('audit').select('teamId').where('batch', '=', p.batch).orderBy('id').limit(1),
)
export const firstChangeOfBatch = (db: Queries, batch: string) => firstOfBatch.first(db, { batch })
