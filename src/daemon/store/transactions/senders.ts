import type { ExpressionBuilder } from 'kysely'
import type { Queries } from '../database.ts'
import type { Database } from '../schema.ts'
import { affected, once, statement } from '../statement.ts'

export type SenderId = { chainId: number; address: string }
type Holder = SenderId & { holder: string }

export const findSender = statement<SenderId>()((db, p) =>
  db.selectFrom('senders').selectAll().where('chainId', '=', p.chainId).where('address', '=', p.address),
).first

export const insertSender = (db: Queries, { chainId, address }: SenderId) =>
  affected(
    db
      .insertInto('senders')
      .values({ chainId, address, nextNonce: 0, leaseHolder: '', leaseUntil: '' })
      .onConflict((conflict) => conflict.doNothing()),
  )

/** @returns false if another process has the lease; nothing may be signed then */
export const renewLease = statement<Holder & { until: string }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ leaseUntil: p.until })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address)
    .where('leaseHolder', '=', p.holder),
).once

export function takeLease(
  db: Queries,
  { until, now, byForce, ...of }: Holder & { until: string; now: string; byForce: boolean },
): Promise<boolean> {
  const query = db
    .updateTable('senders')
    .set({ leaseHolder: of.holder, leaseUntil: until })
    .where('chainId', '=', of.chainId)
    .where('address', '=', of.address)
  const isFree = (e: ExpressionBuilder<Database, 'senders'>) =>
    e.or([e('leaseUntil', '<=', now), e('leaseHolder', 'in', [of.holder, ''])])
  return once(byForce ? query : query.where(isFree))
}

export const giveLeaseBack = (db: Queries, { chainId, address, holder }: Holder) =>
  db
    .updateTable('senders')
    .set({ leaseHolder: '', leaseUntil: '' })
    .where('chainId', '=', chainId)
    .where('address', '=', address)
    .where('leaseHolder', '=', holder)
    .execute()

/** Takes nonces from `from` up to, but not including, `to`. They are never returned. */
export const takeNonces = statement<Holder & { from: number; to: number }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ nextNonce: p.to })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address)
    .where('leaseHolder', '=', p.holder)
    .where('nextNonce', '=', p.from),
).once
