import type { Queries } from '../database/database.ts'
import { affected, once, statement } from '../database/statement.ts'

export type Tenure = { name: string; holder: string; fence: number }

export const findLease = statement<{ name: string }>()((db, p) =>
  db.selectFrom('leases').selectAll().where('name', '=', p.name),
).first

/** Creates a lease that nobody holds, unless there is one. */
export const insertLease = (db: Queries, name: string) =>
  affected(
    db
      .insertInto('leases')
      .values({ name, holder: '', fence: 0, beat: 0 })
      .onConflict((conflict) => conflict.doNothing()),
  )

type Seen = Tenure & { beat: number }

/** Raises the fence. @returns false if the lease is not as it was seen */
export const takeLease = (db: Queries, holder: string, seen: Seen): Promise<boolean> =>
  once(
    db
      .updateTable('leases')
      .set({ holder, fence: seen.fence + 1, beat: seen.beat + 1 })
      .where('name', '=', seen.name)
      .where('holder', '=', seen.holder)
      .where('fence', '=', seen.fence)
      .where('beat', '=', seen.beat),
  )

/** @returns false if another process has taken the lease since */
export const renewLease = statement<Tenure>()((db, p) =>
  db
    .updateTable('leases')
    .set((e) => ({ beat: e('beat', '+', 1) }))
    .where('name', '=', p.name)
    .where('holder', '=', p.holder)
    .where('fence', '=', p.fence),
).once

export const giveLeaseBack = statement<Tenure>()((db, p) =>
  db
    .updateTable('leases')
    .set({ holder: '' })
    .where('name', '=', p.name)
    .where('holder', '=', p.holder)
    .where('fence', '=', p.fence),
).run

/** After a restore: nobody who held one is here. */
export const freeAllLeases = (db: Queries) => affected(db.updateTable('leases').set({ holder: '' }))
