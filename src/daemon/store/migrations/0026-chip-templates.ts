import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // How a HaLo chip shows its taps, once it has.
  for (const table of ['chips', 'removedChips'])
    await db.schema.alterTable(table).addColumn('haloForm', 'text').execute()
  // SDMMetaRead keys that single chips have.
  await db.schema.alterTable('chips').addColumn('metaReadKey', 'blob').execute()
  await db.schema
    .createIndex('chipsWithMetaKey')
    .on('chips')
    .column('uid')
    .where(sql.ref('metaReadKey'), 'is not', null)
    .execute()
  // Decrypted.
  await db.schema.alterTable('taps').addColumn('fileData', 'text').execute()
  // The templates of key sets, in place of four columns, which daemons of the version before still read.
  for (const column of ['template', 'tamperAt', 'mode'])
    await db.schema.alterTable('keySets').addColumn(column, 'text').execute()
  await sql`
    update "keySets" set template = '?'
      || case when "macInputFrom" = 'd' then '^' else '' end || "nameOfD" || '={keySet}&'
      || case when "macInputFrom" = 'e' then '^' else '' end || "nameOfE" || '={picc}&'
      || "nameOfC" || '={mac}'`.execute(db)
  // The keys that a chip's owner supplied, for as long as the plan to replace them is unfinished.
  await db.schema.alterTable('nfcPlans').addColumn('suppliedKeys', 'blob').execute()
}
