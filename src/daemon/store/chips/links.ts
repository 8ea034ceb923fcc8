import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { LinkRow, LinksTable } from '../schema/schema.ts'

const ofTeam = statement<{ teamId: number }>()((db, p) =>
  db.selectFrom('links').selectAll().where('teamId', '=', p.teamId).orderBy('id'),
)
export const linksOfTeam = (db: Queries, teamId: number): Promise<LinkRow[]> => ofTeam.all(db, { teamId })

const links = (db: Queries) => db.selectFrom('links').selectAll()

export const findLink = (db: Queries, id: number) => links(db).where('id', '=', id).executeTakeFirst()

export const findLinkLabelled = (db: Queries, teamId: number, label: string) =>
  links(db).where('teamId', '=', teamId).where('label', '=', label).executeTakeFirst()

export const insertLink = (db: Queries, link: Insertable<LinksTable>): Promise<LinkRow> =>
  db.insertInto('links').values(link).returningAll().executeTakeFirstOrThrow()

export const deleteLink = (db: Queries, id: number) => affected(db.deleteFrom('links').where('id', '=', id))
