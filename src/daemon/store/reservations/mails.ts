import type { Queries } from '../database/database.ts'
import { affected, insertedId, once, statement } from '../database/statement.ts'
import type { MailRow } from '../schema/schema.ts'

/** @returns its ID */
export const queueMail = async (
  db: Queries,
  mail: Pick<MailRow, 'tapId' | 'kind' | 'nonce' | 'messageId' | 'createdAt'>,
): Promise<number> =>
  insertedId(
    await db
      .insertInto('mails')
      .values({ ...mail, dueAt: mail.createdAt, attempts: 0 })
      .returning('id')
      .executeTakeFirst(),
  )

/** Oldest due time first. */
export const dueMails = (db: Queries, now: string, limit: number): Promise<MailRow[]> =>
  db
    .selectFrom('mails')
    .selectAll()
    .where('sentAt', 'is', null)
    .where('failedAt', 'is', null)
    .where('dueAt', '<=', now)
    .orderBy('dueAt')
    .orderBy('id')
    .limit(limit)
    .execute()

const last = statement<{ tapId: number }>()((db, p) =>
  db.selectFrom('mails').selectAll().where('tapId', '=', p.tapId).orderBy('id', 'desc').limit(1),
)
/** The newest mail of a tap. */
export const lastMailOf = last.first

/** True once an attempt at it has ended, and if it is gone. */
export async function isMailTried(db: Queries, id: number): Promise<boolean> {
  const mail = await db
    .selectFrom('mails')
    .select(['attempts', 'sentAt', 'failedAt'])
    .where('id', '=', id)
    .executeTakeFirst()
  return !mail || mail.attempts > 0 || mail.sentAt !== null || mail.failedAt !== null
}

type MailChange = Partial<Pick<MailRow, 'dueAt' | 'attempts' | 'sentAt' | 'failedAt' | 'reason'>>

export const updateMail = (db: Queries, id: number, change: MailChange): Promise<boolean> =>
  once(db.updateTable('mails').set(change).where('id', '=', id))

export const pruneMails = (db: Queries, before: string, limit: number): Promise<number> =>
  affected(
    db
      .deleteFrom('mails')
      .where('id', 'in', (of) =>
        of.selectFrom('mails').select('id').where('createdAt', '<', before).limit(limit),
      ),
  )

const count = statement<{ key: string; until: string; now: string; max: number }>()((db, p) =>
  db
    .insertInto('mailQuotas')
    .values({ key: p.key, until: p.until, count: 1 })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet((e) => ({
          count: e
            .case()
            .when('mailQuotas.until', '<=', p.now)
            .then(e.lit(1))
            .else(e('mailQuotas.count', '+', 1))
            .end(),
          until: e
            .case()
            .when('mailQuotas.until', '<=', p.now)
            .then(e.ref('excluded.until'))
            .else(e.ref('mailQuotas.until'))
            .end(),
        }))
        .where((e) => e.or([e('mailQuotas.until', '<=', p.now), e('mailQuotas.count', '<', p.max)])),
    ),
)
/** Atomic. @param until when the count begins anew @returns false if `max` were counted */
export const countMail = count.runOnce

export const quotaEnd = async (db: Queries, key: string): Promise<string | undefined> =>
  (await db.selectFrom('mailQuotas').select('until').where('key', '=', key).executeTakeFirst())?.until

export const pruneQuotas = (db: Queries, now: string, limit: number): Promise<number> =>
  affected(
    db
      .deleteFrom('mailQuotas')
      .where('key', 'in', (of) =>
        of.selectFrom('mailQuotas').select('key').where('until', '<=', now).limit(limit),
      ),
  )
