import { type ChipsPage, type ChipsText, type Db, engineOf, type Queries } from './database.ts'

// Most groups are no larger, and are read where taps are served: that takes a millisecond or two.
const firstRows = 500
const laterRows = 2000

type Reader = Pick<Db, 'read' | 'slow'>

/** The chips of a group as elements of a JSON array, without its brackets, page by page. */
export const chipsAsElements = (db: Reader, chipGroupId: number): AsyncGenerator<string> =>
  chipPages(db, [chipGroupId], (queries, id, page) => engineOf(queries).chipsAsElements(queries, id, page))

/** What an export says of the chips of groups: JSON lines, page by page. */
export const chipsAsLines = (
  db: Reader,
  groups: readonly { id: number; name: string }[],
): AsyncGenerator<string> =>
  chipPages(db, groups, (queries, group, page) => engineOf(queries).chipsAsLines(queries, group, page))

/** All pages but the first are made where no tap waits for it. */
async function* chipPages<G>(
  db: Reader,
  groups: readonly G[],
  read: (db: Queries, group: G, page: ChipsPage) => Promise<ChipsText>,
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
