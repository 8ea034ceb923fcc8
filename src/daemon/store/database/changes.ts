import type { ChangeKind } from '../schema/schema.ts'
import type { Queries } from './database.ts'
import { affected, statement } from './statement.ts'

/** Call it in each write that changes something of this kind, so that both become visible together. */
export const noteChange = (trx: Queries, kind: ChangeKind): Promise<number> =>
  affected(
    trx
      .updateTable('changes')
      .set((eb) => ({ version: eb('version', '+', 1) }))
      .where('kind', '=', kind),
  )

const version = statement<{ kind: ChangeKind }>()((db, p) =>
  db.selectFrom('changes').select('version').where('kind', '=', p.kind),
)

export const versionOfChange = async (db: Queries, kind: ChangeKind): Promise<number> =>
  (await version.first(db, { kind }))?.version ?? 0

export const versionsOfChanges = (db: Queries): Promise<{ kind: ChangeKind; version: number }[]> =>
  db.selectFrom('changes').select(['kind', 'version']).execute()
