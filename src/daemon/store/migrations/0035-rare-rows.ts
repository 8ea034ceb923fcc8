import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // With what lists ask of refused taps, so that those of a rare outcome are found without reading the others.
  await db.schema.dropIndex('tapsRefused').execute()
  await db.schema
    .createIndex('tapsRefused')
    .on('taps')
    .columns(['id', 'outcome', 'teamId'])
    .where(sql.ref('outcome'), '!=', sql.lit('valid'))
    .execute()
  // Few chips of a team at first; see chipsDisabled. No tap changes it.
  await db.schema
    .createIndex('chipsLinked')
    .on('chips')
    .columns(['chipGroupId', 'uid'])
    .where(sql.ref('tokenRow'), 'is not', null)
    .execute()
  // In the order of its pages: PostgreSQL would walk all chips in that order for an item that few have.
  await db.schema.dropIndex('chipsOfItem').execute()
  await db.schema
    .createIndex('chipsOfItem')
    .on('chips')
    .columns(['teamId', 'itemId', 'uid'])
    .where(sql.ref('itemId'), 'is not', null)
    .execute()
  // A delivered message has no entry here.
  await db.schema
    .createIndex('undelivered')
    .on('webhookDeliveries')
    .columns(['webhookId', 'outcome', 'id'])
    .where(sql.ref('outcome'), '!=', sql.lit('delivered'))
    .execute()
}
