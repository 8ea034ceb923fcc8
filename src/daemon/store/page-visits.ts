import type { Selectable } from 'kysely'
import type { Queries } from './database.ts'
import { hashCode } from './refs.ts'
import type { PageVisitsTable } from './schema.ts'
import { affected, named, statement } from './statement.ts'

export type PageVisitRow = Selectable<PageVisitsTable>

const insert = statement<PageVisitRow>()((db, p) =>
  db
    .insertInto('pageVisits')
    .values(named(p, ['cookieHash', 'refHash', 'chipUid', 'counter', 'refs', 'expiresAt'])),
)
const byRef = statement<{ refHash: string }>()((db, p) =>
  db.selectFrom('pageVisits').selectAll().where('refHash', '=', p.refHash),
)
const seal = statement<{ cookieHash: string; refs: Uint8Array }>()((db, p) =>
  db.updateTable('pageVisits').set({ refs: p.refs }).where('cookieHash', '=', p.cookieHash),
)
const extend = statement<{ cookieHash: string; expiresAt: string }>()((db, p) =>
  db
    .updateTable('pageVisits')
    .set({ expiresAt: p.expiresAt })
    .where('cookieHash', '=', p.cookieHash)
    .where('expiresAt', '<', p.expiresAt),
)

export const insertPageVisit = (
  db: Queries,
  cookie: string,
  visit: Omit<PageVisitRow, 'cookieHash'>,
): Promise<number> => insert.run(db, { ...visit, cookieHash: hashCode(cookie) })

/** @param ref the page's own */
export const findPageVisitOf = (db: Queries, ref: string): Promise<PageVisitRow | undefined> =>
  byRef.first(db, { refHash: hashCode(ref) })

const ofBrowser = (db: Queries, cookies: readonly string[]) =>
  db.selectFrom('pageVisits').where('cookieHash', 'in', cookies.map(hashCode))

/** The visit of one tap, if one of a browser's cookies is its. */
export const findPageVisit = (
  db: Queries,
  cookies: readonly string[],
  tap: { chipUid: string; counter: number },
): Promise<PageVisitRow | undefined> =>
  ofBrowser(db, cookies)
    .selectAll()
    .where('chipUid', '=', tap.chipUid)
    .where('counter', '=', tap.counter)
    .executeTakeFirst()

/** A browser's visits of a chip, with their taps. */
export async function visitsOfBrowser(
  db: Queries,
  cookies: readonly string[],
  chipUid: string,
): Promise<(Pick<PageVisitRow, 'refs'> & { tapId: number })[]> {
  if (cookies.length === 0) return []
  return ofBrowser(db, cookies)
    .innerJoin('refs', 'refs.idHash', 'pageVisits.refHash')
    .select(['refs.tapId', 'pageVisits.refs'])
    .where('pageVisits.chipUid', '=', chipUid)
    .execute()
}

export const sealPageVisit = seal.run

/** Never shortens it. */
export const extendPageVisit = extend.run

/** @returns the number of deleted rows */
export const prunePageVisits = (db: Queries, before: string, limit: number) =>
  affected(
    db
      .deleteFrom('pageVisits')
      .where('cookieHash', 'in', (of) =>
        of.selectFrom('pageVisits').select('cookieHash').where('expiresAt', '<', before).limit(limit),
      ),
  )

export const endPageVisits = (db: Queries, chipUid: string) =>
  affected(db.deleteFrom('pageVisits').where('chipUid', '=', chipUid))
