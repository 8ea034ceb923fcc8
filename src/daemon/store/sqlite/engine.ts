import { type RawBuilder, sql } from 'kysely'
import { appliedColumns, type ExportedColumn, exportedColumns } from '../../../values/chip-columns.ts'
import type { ChipsAsText, Engine } from '../database/database.ts'

const flag = (isSet: RawBuilder<unknown>) => sql`json(iif(${isSet}, 'true', 'false'))`

const revision: Engine['revision'] = (columnOf) =>
  sql`revision(json_array(${sql.join(
    appliedColumns.map((column) =>
      column === 'disabled' ? sql`${columnOf(column)} is not null` : columnOf(column),
    ),
  )}))`

/** Type of a column of `chipsToExport`. */
const exported = (column: ExportedColumn) => {
  const value = sql.ref(column)
  if (column === 'disabled') return flag(sql`${value} is not null`)
  return column === 'lastCounter' ? sql`iif(${value} >= 0, ${value}, null)` : value
}

// `json_each` takes a list as one parameter; `json_group_array` avoids passing rows through JavaScript.

export const sqliteEngine: Engine = {
  name: 'sqlite',
  isShared: false,
  now: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  listed: (values) => sql`(select value from json_each(${JSON.stringify(values)}))`,
  revision,
  chipsAsElements: async (db, chipGroupId, page) => {
    const { rows } = await sql<ChipsAsText>`
      select json_group_array(json_object(
        'uid', uid, 'createdAt', "createdAt",
        'isConfigured', ${flag(isConfigured)}, 'redirectUrl', "redirectUrl"
      )) as text, count(*) as rows, max(uid) as last
      from (select * from chips where "chipGroupId" = ${chipGroupId} and uid > ${page.after} order by uid limit ${page.limit})
    `.execute(db)
    const found = textOf(rows)
    return { ...found, text: found.text.slice(1, -1) }
  },
  chipsAsLines: async (db, chips) => {
    const { rows } = await sql<ChipsAsText>`
      select group_concat(json_object(
        'uid', uid, ${sql.join(exportedColumns.map((column) => sql`${sql.lit(column)}, ${exported(column)}`))},
        'generation', generation, 'lastTapAt', "lastTapAt", 'createdAt', "createdAt",
        'isConfigured', ${flag(isConfigured)}, 'revision', ${revision((column) => sql.ref(column))}
      ) || char(10), '') as text, count(*) as rows, max(uid) as last
      from ${chips}
    `.execute(db)
    return textOf(rows)
  },
}

const isConfigured = sql`("tokenRow" is not null or "itemId" is not null or "redirectUrl" is not null
  or exists (select 1 from "badgeAssignments" where "chipUid" = uid)
  or exists (select 1 from "guestbookAssignments" where "chipUid" = uid))`

const textOf = ([page]: ChipsAsText[]): ChipsAsText => ({
  text: page?.text ?? '',
  rows: page?.rows ?? 0,
  last: page?.last ?? null,
})
