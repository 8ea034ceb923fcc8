import { expressionBuilder } from 'kysely'
import { engineOf, type Queries } from '../database/database.ts'
import type { Database } from '../schema/schema.ts'

interface Daemon {
  id: string
  /** For people. */
  name: string
  /** JSON. */
  settings: string
}

const daemons = expressionBuilder<Database, 'daemons'>()

/** By the database's clock. @param silentMs 0, or the silence to record for a daemon that has stopped */
export async function hearDaemon(trx: Queries, daemon: Daemon, silentMs = 0): Promise<void> {
  const { now } = engineOf(trx)
  await trx
    .insertInto('daemons')
    .values({ ...daemon, heardAt: daemons(now, '-', silentMs) })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((eb) => ({
        name: eb.ref('excluded.name'),
        settings: eb.ref('excluded.settings'),
        heardAt: eb.ref('excluded.heardAt'),
      })),
    )
    .execute()
}

/** @returns each daemon's time since its last sign of life, in milliseconds */
export function otherDaemons(db: Queries, id: string) {
  const { now } = engineOf(db)
  return db
    .selectFrom('daemons')
    .select(['name', 'settings'])
    .select((eb) => eb(now, '-', eb.ref('heardAt')).as('silentMs'))
    .where('id', '!=', id)
    .orderBy('name')
    .execute()
}

export async function pruneDaemons(trx: Queries, silentMs: number): Promise<void> {
  const { now } = engineOf(trx)
  await trx
    .deleteFrom('daemons')
    .where((eb) => eb('heardAt', '<', eb(now, '-', silentMs)))
    .execute()
}
