import type { Db, Queries } from './database.ts'

export interface Page {
  /** What is answered with them, made in the database. */
  text: string
  rows: number
  /** The last UID, null where there is none. */
  last: string | null
}

// Most groups are no larger, and are read where taps are served: that takes a millisecond or two.
const firstRows = 500
const laterRows = 2000

/** Texts of the chips of groups, page by page; all but the first are made where no tap waits for it. */
export async function* chipPages<G>(
  db: Pick<Db, 'read' | 'slow'>,
  groups: readonly G[],
  read: (db: Queries, group: G, page: { after: string; limit: number }) => Promise<Page>,
): AsyncGenerator<string> {
  let [queries, limit] = [db.read, firstRows]
  for (const group of groups) {
    for (let after = ''; ; ) {
      const { text, rows, last } = await read(queries, group, { after, limit })
      if (last !== null) yield text
      const isLast = last === null || rows < limit
      ;[queries, limit] = [db.slow, laterRows]
      if (isLast) break
      after = last
    }
  }
}
