import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'

export type SenderId = { chainId: number; address: string }

export const findSender = statement<SenderId>()((db, p) =>
  db.selectFrom('senders').selectAll().where('chainId', '=', p.chainId).where('address', '=', p.address),
).first

export const insertSender = (db: Queries, { chainId, address }: SenderId) =>
  affected(
    db
      .insertInto('senders')
      .values({ chainId, address, nextNonce: 0 })
      .onConflict((conflict) => conflict.doNothing()),
  )

/** Takes nonces from `from` up to, but not including, `to`. They are never returned. */
export const takeNonces = statement<SenderId & { from: number; to: number }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ nextNonce: p.to })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address)
    .where('nextNonce', '=', p.from),
).runOnce
