import { expressionBuilder } from 'kysely'
import { engineOf, type Queries } from '../database/database.ts'
import { affected, once } from '../database/statement.ts'
import type { Database } from '../schema/schema.ts'

/** What one holder alone may work with. */
export interface Hold {
  name: string
  /** The process that the holder lives in, which decides between its own holders. */
  daemon: string
  holder: string
  /** Whose later holders may take it from one that is not at work. */
  station: string | null
}

/** Times in milliseconds, by the database's clock, so that no two daemons' clocks are compared. */
export interface HoldTerms {
  /** It need not be heard for so long. */
  busyMs: number
  /** Another may take it after so much silence. */
  silentMs: number
}

const holds = expressionBuilder<Database, 'holds'>()

/** One conditional write. @returns false if another one holds it */
export const takeHold = (trx: Queries, hold: Hold, { busyMs, silentMs }: HoldTerms): Promise<boolean> => {
  const { now } = engineOf(trx)
  return once(
    trx
      .insertInto('holds')
      .values({ ...hold, busyUntil: holds(now, '+', busyMs), heardAt: now })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet((eb) => ({
            daemon: eb.ref('excluded.daemon'),
            holder: eb.ref('excluded.holder'),
            station: eb.ref('excluded.station'),
            busyUntil: eb.ref('excluded.busyUntil'),
            heardAt: eb.ref('excluded.heardAt'),
          }))
          .where((eb) =>
            eb.or([
              eb('holds.daemon', '=', eb.ref('excluded.daemon')),
              eb.and([
                eb('holds.busyUntil', '<=', eb.ref('excluded.heardAt')),
                eb.or([
                  eb('holds.heardAt', '<=', eb('excluded.heardAt', '-', silentMs)),
                  eb('holds.station', '=', eb.ref('excluded.station')),
                ]),
              ]),
            ]),
          ),
      ),
  )
}

/** @param busyMs 0: it is heard, and at work no more @returns the names that it still holds */
export async function renewHolds(trx: Queries, holder: string, busyMs: number): Promise<string[]> {
  const { now } = engineOf(trx)
  const rows = await trx
    .updateTable('holds')
    .set({ busyUntil: busyMs === 0 ? 0 : holds(now, '+', busyMs), heardAt: now })
    .where('holder', '=', holder)
    .returning('name')
    .execute()
  return rows.map(({ name }) => name)
}

export const releaseHolds = (trx: Queries, holder: string, names?: readonly string[]): Promise<number> => {
  const all = trx.deleteFrom('holds').where('holder', '=', holder)
  return affected(names === undefined ? all : all.where('name', 'in', names))
}

/** @param prefix of names, without wildcards @returns names that others hold, and are heard */
export const heldByOthers = async (
  db: Queries,
  of: { prefix: string; daemon: string; silentMs: number },
): Promise<string[]> => {
  const { now } = engineOf(db)
  const rows = await db
    .selectFrom('holds')
    .select('name')
    .where('name', 'like', `${of.prefix}%`)
    .where('daemon', '!=', of.daemon)
    .where((eb) => eb.or([eb('busyUntil', '>', now), eb('heardAt', '>', eb(now, '-', of.silentMs))]))
    .execute()
  return rows.map(({ name }) => name)
}

/** Of holders that ended without a word. @returns how many were deleted */
export const pruneHolds = (trx: Queries, silentMs: number): Promise<number> => {
  const { now } = engineOf(trx)
  return affected(
    trx
      .deleteFrom('holds')
      .where('busyUntil', '<=', now)
      .where((eb) => eb('heardAt', '<=', eb(now, '-', silentMs))),
  )
}
