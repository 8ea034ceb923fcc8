import type { Insertable, Updateable } from 'kysely'
import { noteChange } from '../database/changes.ts'
import type { Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'
import type { WebhookRow, WebhooksTable } from '../schema/schema.ts'

const webhooks = (db: Queries) => db.selectFrom('webhooks').selectAll().where('removedAt', 'is', null)

export const allWebhooks = (db: Queries): Promise<WebhookRow[]> => webhooks(db).orderBy('id').execute()

export const webhooksOfTeam = (db: Queries, teamId: number): Promise<WebhookRow[]> =>
  webhooks(db).where('teamId', '=', teamId).orderBy('id').execute()

export const findWebhook = (db: Queries, id: number): Promise<WebhookRow | undefined> =>
  webhooks(db).where('id', '=', id).executeTakeFirst()

export async function insertWebhook(db: Queries, webhook: Insertable<WebhooksTable>): Promise<WebhookRow> {
  await noteChange(db, 'webhooks')
  return db.insertInto('webhooks').values(webhook).returningAll().executeTakeFirstOrThrow()
}

export async function updateWebhook(
  db: Queries,
  id: number,
  change: Updateable<WebhooksTable>,
): Promise<number> {
  await noteChange(db, 'webhooks')
  return affected(db.updateTable('webhooks').set(change).where('id', '=', id).where('removedAt', 'is', null))
}

/** @returns false if it is disabled or removed already */
export async function disableWebhook(
  db: Queries,
  { id, at, reason }: { id: number; at: string; reason: string },
): Promise<boolean> {
  await noteChange(db, 'webhooks')
  return once(
    db
      .updateTable('webhooks')
      .set({ disabledAt: at, disabledReason: reason })
      .where('id', '=', id)
      .where('disabledAt', 'is', null)
      .where('removedAt', 'is', null),
  )
}

/** Hides it; its deliveries still have to be deleted. @returns false if it is gone already */
export async function markRemoved(db: Queries, id: number, at: string): Promise<boolean> {
  await noteChange(db, 'webhooks')
  return once(
    db
      .updateTable('webhooks')
      .set({ removedAt: at, disabledAt: at, url: Buffer.alloc(0), secret: Buffer.alloc(0), oldSecret: null })
      .where('id', '=', id)
      .where('removedAt', 'is', null),
  )
}

export const removedWebhooks = async (db: Queries): Promise<number[]> =>
  (await db.selectFrom('webhooks').select('id').where('removedAt', 'is not', null).execute()).map(
    ({ id }) => id,
  )

/** Only after its deliveries are deleted. */
export const deleteWebhook = (db: Queries, id: number) =>
  affected(db.deleteFrom('webhooks').where('id', '=', id).where('removedAt', 'is not', null))
