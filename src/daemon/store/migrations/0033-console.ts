import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Few of very many chips. A tap changes neither column but to open a seal, so its update stays in the row's page.
  const rare = (name: string, columns: string[], when: string) =>
    db.schema.createIndex(name).on('chips').columns(columns).where(sql.ref(when), 'is not', null).execute()
  await rare('chipsDisabled', ['chipGroupId', 'uid'], 'disabledAt')
  await rare('chipsOpened', ['chipGroupId', 'uid'], 'openedAt')
  await rare('chipsByOpening', ['openedAt'], 'openedAt')
}
