import { type Kysely, sql } from 'kysely'
import { required, strictClustered } from './columns.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Few of very many chips. A tap changes neither column but to open a seal, so its update stays in the row's page.
  const rare = (name: string, columns: string[], when: string) =>
    db.schema.createIndex(name).on('chips').columns(columns).where(sql.ref(when), 'is not', null).execute()
  await rare('chipsDisabled', ['chipGroupId', 'uid'], 'disabledAt')
  await rare('chipsOpened', ['chipGroupId', 'uid'], 'openedAt')
  await rare('chipsByOpening', ['openedAt'], 'openedAt')
  await rare('chipsByOpeningOfTeam', ['teamId', 'openedAt'], 'openedAt')
  // Counted behind the taps, so that no tap writes here. 0 and '' stand for none, since keys cannot be null.
  await db.schema
    .createTable('tapMinutes')
    .$call(required('text', 'minute'))
    .$call(required('integer', 'teamId'))
    .$call(required('text', 'outcome'))
    .$call(required('integer', 'taps'))
    .addPrimaryKeyConstraint('tapMinutesKey', ['minute', 'teamId', 'outcome'])
    .modifyEnd(strictClustered)
    .execute()
  await db.schema
    .createTable('tapHours')
    .$call(required('text', 'hour'))
    .$call(required('integer', 'teamId chipGroupId'))
    .$call(required('text', 'itemId'))
    .$call(required('integer', 'taps valid'))
    .addPrimaryKeyConstraint('tapHoursKey', ['hour', 'teamId', 'chipGroupId', 'itemId'])
    .modifyEnd(strictClustered)
    .execute()
}
