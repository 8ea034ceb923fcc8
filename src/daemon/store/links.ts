import type { Queries } from './database.ts'
import type { LinkRow } from './schema.ts'
import { statement } from './statement.ts'

const ofTeam = statement<{ teamId: number }>()((db, p) =>
  db.selectFrom('links').selectAll().where('teamId', '=', p.teamId).orderBy('id'),
)

export const linksOfTeam = (db: Queries, teamId: number): Promise<LinkRow[]> => ofTeam.all(db, { teamId })
