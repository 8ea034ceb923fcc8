import type { Selectable } from 'kysely'
import { hashCode } from './code-hash.ts'
import type { Queries } from './database.ts'
import type { PageVisitsTable } from './schema.ts'
import { named, statement } from './statement.ts'

export type PageVisitRow = Selectable<PageVisitsTable>

const insert = statement<PageVisitRow>()((db, p) =>
  db.insertInto('pageVisits').values(named(p, ['cookieHash', 'chipUid', 'counter', 'refs', 'expiresAt'])),
)
const byHash = statement<{ cookieHash: string }>()((db, p) =>
  db.selectFrom('pageVisits').selectAll().where('cookieHash', '=', p.cookieHash),
)

export const insertPageVisit = (
  db: Queries,
  cookie: string,
  visit: Omit<PageVisitRow, 'cookieHash'>,
): Promise<number> => insert.run(db, { ...visit, cookieHash: hashCode(cookie) })

export const findPageVisit = (db: Queries, cookie: string): Promise<PageVisitRow | undefined> =>
  byHash.first(db, { cookieHash: hashCode(cookie) })

/** Deletes some of those that expired before a moment. @returns how many */
export async function prunePageVisits(db: Queries, before: string, limit: number): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('pageVisits')
    .where('cookieHash', 'in', (of) =>
      of.selectFrom('pageVisits').select('cookieHash').where('expiresAt', '<', before).limit(limit),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

/** Of a chip that was disabled or removed: nobody loads its page again. */
export async function endPageVisits(db: Queries, chipUid: string): Promise<void> {
  await db.deleteFrom('pageVisits').where('chipUid', '=', chipUid).execute()
}
