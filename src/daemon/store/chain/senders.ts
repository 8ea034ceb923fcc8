import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { SenderJam } from '../schema/schema.ts'

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

export const setJam = statement<SenderId & { jam: SenderJam | null }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ jam: p.jam })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address),
).run

const jammed = statement<{ chainId: number }>()((db, p) =>
  db
    .selectFrom('senders')
    .select(['address', 'jam'])
    .where('chainId', '=', p.chainId)
    .where('jam', 'is not', null),
)
/** The reasons by address. */
export const jammedSenders = async (
  db: Queries,
  chainId: number,
): Promise<ReadonlyMap<string, SenderJam | null>> =>
  new Map((await jammed.all(db, { chainId })).map(({ address, jam }) => [address, jam]))

/** @returns false if it was reported after `before` */
export const markLowReported = statement<SenderId & { at: string; before: string }>()((db, p) =>
  db
    .updateTable('senders')
    .set({ lowReportedAt: p.at })
    .where('chainId', '=', p.chainId)
    .where('address', '=', p.address)
    .where((e) => e.or([e('lowReportedAt', 'is', null), e('lowReportedAt', '<=', p.before)])),
).runOnce
