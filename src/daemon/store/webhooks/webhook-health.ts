import type { Queries } from '../database/database.ts'
import { statement } from '../database/statement.ts'

const settled = statement<{ webhookId: number; limit: number }>()((db, p) =>
  db
    .selectFrom('webhookDeliveries')
    .select(['outcome', 'settledAt', 'statusCode', 'error'])
    .where('webhookId', '=', p.webhookId)
    .where('settledAt', 'is not', null)
    .orderBy('id', 'desc')
    .limit(p.limit),
)
/** The newest ones, newest first. */
export const newestSettled = settled.all

const retried = statement<{ webhookId: number }>()((db, p) =>
  db
    .selectFrom('webhookDeliveries')
    .select(['attempts', 'dueAt', 'statusCode', 'error'])
    .where('webhookId', '=', p.webhookId)
    .where('settledAt', 'is', null)
    .where('dueAt', 'is not', null)
    .orderBy('dueAt')
    .limit(1),
)
/** The delivery that is tried again next. */
export const nextRetry = (db: Queries, webhookId: number) => retried.first(db, { webhookId })
