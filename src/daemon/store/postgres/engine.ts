import { type Expression, type RawBuilder, sql } from 'kysely'
import { appliedColumns, type ExportedColumn, exportedColumns } from '../../../values/chip-columns.ts'
import type { ChipsAsText, Engine } from '../database/database.ts'
import { tapMonths } from './tap-months.ts'

// The text that SQLite's json_array makes, so that a revision means the same on both engines.
const element = (value: Expression<unknown> | RawBuilder<unknown>) =>
  sql`coalesce(to_json(${value})::text, 'null')`

const revision: Engine['revision'] = (columnOf) => {
  const values = appliedColumns.map((column) =>
    column === 'disabled'
      ? sql`case when ${columnOf(column)} is null then '0' else '1' end`
      : element(columnOf(column)),
  )
  const text = sql`'[' || concat_ws(',', ${sql.join(values)}) || ']'`
  return sql<string>`'r' || substr(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 1, 12)`
}

/** Type of a column of `chipsToExport`. */
const exported = (column: ExportedColumn) => {
  const value = sql.ref(column)
  if (column === 'disabled') return sql`${value} is not null`
  return column === 'lastCounter' ? sql`case when ${value} >= 0 then ${value} end` : value
}

const isConfigured = sql`("tokenRow" is not null or "itemId" is not null or "redirectUrl" is not null
  or exists (select 1 from "badgeAssignments" where "chipUid" = uid)
  or exists (select 1 from "guestbookAssignments" where "chipUid" = uid))`

export const postgresEngine: Engine = {
  name: 'postgres',
  isShared: true,
  now: sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`,
  listed: (values) => sql`(select value from unnest(${values}::text[]) as listed(value))`,
  tapMonths,
  held: (query) => query.forNoKeyUpdate(),
  revision,
  chipsAsElements: async (db, chipGroupId, page) => {
    const { rows } = await sql<ChipsAsText>`
      select string_agg(json_build_object(
        'uid', uid, 'createdAt', "createdAt", 'isConfigured', ${isConfigured}, 'redirectUrl', "redirectUrl"
      )::text, ',' order by uid) as text, count(*) as rows, max(uid) as last
      from (select * from chips where "chipGroupId" = ${chipGroupId} and uid > ${page.after} order by uid limit ${page.limit}) page
    `.execute(db)
    return textOf(rows)
  },
  chipsAsLines: async (db, chips) => {
    const { rows } = await sql<ChipsAsText>`
      select string_agg(json_build_object(
        'uid', uid, ${sql.join(exportedColumns.map((column) => sql`${sql.lit(column)}, ${exported(column)}`))},
        'generation', generation, 'lastTapAt', "lastTapAt", 'createdAt', "createdAt",
        'isConfigured', ${isConfigured}, 'revision', ${revision((column) => sql.ref(column))}
      )::text || chr(10), '' order by uid) as text, count(*) as rows, max(uid) as last
      from ${chips} page
    `.execute(db)
    return textOf(rows)
  },
}

const textOf = ([page]: ChipsAsText[]): ChipsAsText => ({
  text: page?.text ?? '',
  rows: page?.rows ?? 0,
  last: page?.last ?? null,
})
