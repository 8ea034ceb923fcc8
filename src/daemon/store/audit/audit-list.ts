import type { SelectQueryBuilder } from 'kysely'
import type { Queries } from '../database/database.ts'
import type { Database } from '../schema/schema.ts'
import type { AuditRow } from './audit.ts'
import { entriesAmongOthers } from './chip-trail.ts'

export interface AuditFilter {
  teamId?: number | undefined
  /** A noun and a verb, or only a noun to match all its verbs. */
  action?: string | undefined
  /** Any of these. */
  actors?: readonly string[] | undefined
  batch?: string | undefined
  /** Entries that concern this chip. */
  uid?: string | undefined
  since?: { readonly at: string; readonly firstId: number } | undefined
  /** Before this date. */
  until?: string | undefined
  before?: number | undefined
  limit: number
}

type Entries = SelectQueryBuilder<Database, 'audit', { id: number }>

/**
 * Newest first. `team` is null for deleted teams. One filter is looked up in its index, in the order of IDs, once per
 * value; the others are compared.
 */
export async function listAudit(db: Queries, filter: AuditFilter): Promise<AuditRow[]> {
  const found = await Promise.all(
    (await lookUps(db, filter)).map((lookUp) =>
      lookUp(compared(db, filter)).orderBy('audit.id', 'desc').limit(filter.limit).execute(),
    ),
  )
  const ids = [...new Set(found.flat().map(({ id }) => id))].sort((a, b) => b - a).slice(0, filter.limit)
  if (ids.length === 0) return []
  return db
    .selectFrom('audit')
    .leftJoin('teams', 'teams.id', 'audit.teamId')
    .selectAll('audit')
    .select('teams.name as team')
    .where('audit.id', 'in', ids)
    .orderBy('audit.id', 'desc')
    .execute()
}

/** The first entry from a time on: the clock may have been set back after it. */
export const firstEntrySince = async (db: Queries, at: string): Promise<number | undefined> => {
  const { first } = await db
    .selectFrom('audit')
    .select((e) => e.fn.min('id').as('first'))
    .where('at', '>=', at)
    .executeTakeFirstOrThrow()
  return first === null ? undefined : Number(first)
}

/** All filters, so written that none of them makes the database choose its index. */
function compared(
  db: Queries,
  { teamId, action, actors, batch, since, until, before }: AuditFilter,
): Entries {
  let query = db.selectFrom('audit').select('audit.id')
  const text =
    (column: 'action' | 'actor' | 'batch' | 'at') => (is: '=' | '>' | '>=' | '<', value: string) => {
      query = query.where((e) => e(e.fn.coalesce(`audit.${column}`, e.val('')), is, value))
    }
  if (teamId !== undefined)
    query = query.where((e) => e(e.fn.coalesce('audit.teamId', e.val(0)), '=', teamId))
  if (action?.includes('.')) text('action')('=', action)
  else if (action !== undefined) {
    // Not LIKE, which ignores case only on SQLite.
    text('action')('>', `${action}.`)
    text('action')('<', `${action}/`)
  }
  if (actors) query = query.where((e) => e(e.fn.coalesce('audit.actor', e.val('')), 'in', actors))
  if (batch !== undefined) text('batch')('=', batch)
  if (until !== undefined) text('at')('<', until)
  if (since) {
    query = query.where('audit.id', '>=', since.firstId)
    text('at')('>=', since.at)
  }
  return before === undefined ? query : query.where('audit.id', '<', before)
}

/** In the order of how few entries they usually find. */
async function lookUps(
  db: Queries,
  { teamId, action, actors, batch, uid }: AuditFilter,
): Promise<((entries: Entries) => Entries)[]> {
  if (uid !== undefined) return ofChip(db, uid)
  if (batch !== undefined) return [(entries) => entries.where('audit.batch', '=', batch)]
  const inTeam = (entries: Entries) =>
    teamId === undefined ? entries : entries.where('audit.teamId', '=', teamId)
  if (actors) return actors.map((actor) => (entries) => inTeam(entries.where('audit.actor', '=', actor)))
  const actions = action?.includes('.') === false ? await actionsOf(db, action) : action && [action]
  if (actions) return actions.map((one) => (entries) => inTeam(entries.where('audit.action', '=', one)))
  return [inTeam]
}

async function ofChip(db: Queries, uid: string): Promise<((entries: Entries) => Entries)[]> {
  const among = await entriesAmongOthers(db, uid)
  return [
    (entries) => entries.where('audit.target', '=', uid),
    (entries) =>
      entries.where('audit.id', 'in', (e) =>
        e.selectFrom('auditChips').select('auditId').where('uid', '=', uid),
      ),
    ...(among.length === 0 ? [] : [(entries: Entries) => entries.where('audit.id', 'in', among)]),
  ]
}

/** One look-up each: a range of actions has no order of IDs. */
async function actionsOf(db: Queries, noun: string): Promise<string[]> {
  const found: string[] = []
  for (let last = `${noun}.`; ; ) {
    const next = await db
      .selectFrom('audit')
      .select('action')
      .where('action', '>', last)
      .where('action', '<', `${noun}/`)
      .orderBy('action')
      .limit(1)
      .executeTakeFirst()
    if (!next) return found
    found.push(next.action)
    last = next.action
  }
}
