import { type Kysely, sql } from 'kysely'
import { optional, required, strictClustered } from './columns.ts'

/** Badges of reservations: each holds one of its event's codes until a claim uses it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('keptBadges')
    .$call(required('integer', 'tapId badgeEventId'))
    .$call(optional('text', 'otpHash'))
    .addPrimaryKeyConstraint('keptBadgesKey', ['tapId', 'badgeEventId'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createIndex('keptBadgesByClaim')
    .on('keptBadges')
    .column('otpHash')
    .where(sql.ref('otpHash'), 'is not', null)
    .execute()
}
