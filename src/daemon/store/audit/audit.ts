import type { Selectable } from 'kysely'
import { hashOfEntry } from '../../../values/audit-chain.ts'
import { engineOf, type Queries } from '../database/database.ts'
import { named, statement } from '../database/statement.ts'
import type { AuditTable } from '../schema/schema.ts'
import { type AuditHead, extendAudit } from './audit-head.ts'
import { noteActor } from './effects.ts'

export interface Actor {
  /** `admin:NAME`, `key:NAME`, `seed` or `daemon`. */
  readonly name: string
  readonly requestId: string | null
  /** The team whose things alone it may reach; absent: those of all. */
  readonly ofTeam?: number | undefined
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
  /** Chips that it concerns, besides its target, so that it is found by them. For many chips see chip-trail.ts. */
  chips?: readonly string[]
}

export type AuditRow = Selectable<AuditTable> & { team: string | null }

const insert = statement<Omit<AuditRow, 'team'>>()((db, p) =>
  db
    .insertInto('audit')
    .values(
      named(p, ['id', 'at', 'actor', 'teamId', 'action', 'target', 'detail', 'requestId', 'batch', 'hash']),
    ),
)

/** Call it in the transaction of the change, so that both are stored or neither. @returns the head after it */
export async function recordChange(
  db: Queries,
  { actor, detail, chips = [], ...change }: Change,
): Promise<AuditHead> {
  noteActor(db, actor)
  const { name, requestId, batch = null } = actor
  const entry = { ...change, actor: name, requestId, batch, detail: JSON.stringify(detail ?? {}) }
  return extendAudit(db, async (id, previous) => {
    const hash = hashOfEntry(previous, { id, ...entry })
    await insert.run(db, { id, ...entry, hash })
    await nameChips(db, id, [...new Set(chips)].filter((uid) => uid !== change.target).sort())
    return hash
  })
}

/** @param uids each once, in the order of the table */
async function nameChips(db: Queries, auditId: number, uids: readonly string[]): Promise<void> {
  if (uids.length === 0) return
  await db
    .insertInto('auditChips')
    .columns(['uid', 'auditId'])
    .expression(
      db
        .selectFrom(engineOf(db).listed(uids).$castTo<{ value: string }>().as('named'))
        .select((e) => ['named.value as uid', e.cast<number>(e.val(auditId), 'integer').as('auditId')]),
    )
    .execute()
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
