import type { Queries } from '../database.ts'
import { statement } from '../statement.ts'

export type SenderId = { chainId: number; address: string }
type Holder = SenderId & { holder: string }

const find = statement<SenderId>()((db, p) =>
  db.selectFrom('senders').selectAll().where('chainId', '=', p.chainId).where('address', '=', p.address),
)
export const findSender = (db: Queries, id: SenderId) => find.first(db, id)

/** Makes the row of a sender that was never used here, leased to nobody. */
export async function insertSender(db: Queries, { chainId, address }: SenderId): Promise<void> {
  await db
    .insertInto('senders')
    .values({ chainId, address, nextNonce: 0, leaseHolder: '', leaseUntil: '' })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

const renew = statement<Holder & { until: string }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ leaseUntil: p.until })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address)
    .where('leaseHolder', '=', p.holder),
)
/** @returns false where another holds it now: nothing may be signed. */
export const renewLease = async (db: Queries, of: Holder & { until: string }): Promise<boolean> =>
  (await renew.run(db, of)) === 1

/** Takes a lease that is free, expired or this holder's already; `byForce` any. */
export async function takeLease(
  db: Queries,
  {
    chainId,
    address,
    holder,
    until,
    now,
    byForce,
  }: Holder & { until: string; now: string; byForce: boolean },
): Promise<boolean> {
  const query = db
    .updateTable('senders')
    .set({ leaseHolder: holder, leaseUntil: until })
    .where('chainId', '=', chainId)
    .where('address', '=', address)
  const { numUpdatedRows } = await (byForce
    ? query
    : query.where((e) => e.or([e('leaseUntil', '<=', now), e('leaseHolder', 'in', [holder, ''])]))
  ).executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Lets others take it at once. */
export const giveLeaseBack = (db: Queries, { chainId, address, holder }: Holder) =>
  db
    .updateTable('senders')
    .set({ leaseHolder: '', leaseUntil: '' })
    .where('chainId', '=', chainId)
    .where('address', '=', address)
    .where('leaseHolder', '=', holder)
    .execute()

const advance = statement<Holder & { from: number; to: number }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ nextNonce: p.to })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address)
    .where('leaseHolder', '=', p.holder)
    .where('nextNonce', '=', p.from),
)
/** Takes the nonces from `from` to before `to`, once. They never come back. */
export const takeNonces = async (db: Queries, of: Holder & { from: number; to: number }): Promise<boolean> =>
  (await advance.run(db, of)) === 1
