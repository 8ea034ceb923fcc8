import { type Kysely, sql } from 'kysely'

/**
 * The templates of key sets, in place of four columns, which daemons of the version before still read; the file data of
 * taps; how a HaLo chip shows its taps, once it has.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['chips', 'removedChips'])
    await db.schema.alterTable(table).addColumn('haloForm', 'text').execute()
  await db.schema.alterTable('taps').addColumn('fileData', 'text').execute()
  for (const column of ['template', 'tamperAt'])
    await db.schema.alterTable('keySets').addColumn(column, 'text').execute()
  await sql`
    update "keySets" set template = '?'
      || case when "macInputFrom" = 'd' then '^' else '' end || "nameOfD" || '={keySet}&'
      || case when "macInputFrom" = 'e' then '^' else '' end || "nameOfE" || '={picc}&'
      || "nameOfC" || '={mac}'`.execute(db)
}
