import type { ChangeKind } from '../schema/schema.ts'
import type { Queries } from './database.ts'
import { affected } from './statement.ts'

/** Call it in each write that changes something of this kind, so that both become visible together. */
export const noteChange = (trx: Queries, kind: ChangeKind): Promise<number> =>
  affected(
    trx
      .updateTable('changes')
      .set((eb) => ({ version: eb('version', '+', 1) }))
      .where('kind', '=', kind),
  )

export const versionsOfChanges = (db: Queries): Promise<{ kind: ChangeKind; version: number }[]> =>
  db.selectFrom('changes').select(['kind', 'version']).execute()
