import type { Selectable } from 'kysely'
import type { Queries } from './database.ts'
import type { PageVisitsTable } from './schema.ts'
import { named, statement } from './statement.ts'

export type PageVisitRow = Selectable<PageVisitsTable>

const insert = statement<PageVisitRow>()((db, p) =>
  db.insertInto('pageVisits').values(named(p, ['cookieHash', 'tapId', 'chipUid', 'counter', 'expiresAt'])),
)
const byHash = statement<{ cookieHash: string }>()((db, p) =>
  db.selectFrom('pageVisits').selectAll().where('cookieHash', '=', p.cookieHash),
)

export const insertPageVisit = (db: Queries, visit: PageVisitRow) => insert.run(db, visit)

export const findPageVisit = (db: Queries, cookieHash: string): Promise<PageVisitRow | undefined> =>
  byHash.first(db, { cookieHash })

/** Deletes those that expired before a moment. */
export async function deletePageVisits(db: Queries, before: string): Promise<void> {
  await db.deleteFrom('pageVisits').where('expiresAt', '<', before).execute()
}

/** Of a chip that was disabled or removed: nobody loads its page again. */
export async function endPageVisits(db: Queries, chipUid: string): Promise<void> {
  await db.deleteFrom('pageVisits').where('chipUid', '=', chipUid).execute()
}
