import type { OnSettled } from '../../chain/relayer/sender.ts'
import { confirmMembers, idsIn, membersOf, releaseMembers } from '../../store/chain/groups.ts'
import { findTransaction, findTransactions, groupKind } from '../../store/chain/intents.ts'
import { type ShownTransaction, showTransaction } from '../../store/chain/listing.ts'
import { markSettled } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import type { WebhookEvents } from '../webhooks/events.ts'

/** Webhooks report each member, not the group. Members of a group without effect are sent alone. */
export async function settleMembers(
  trx: Queries,
  { id, state, at }: Parameters<OnSettled>[1],
  webhookEvents: WebhookEvents,
): Promise<void> {
  const group = await findTransaction(trx, id)
  const members = await membersOf(trx, id)
  if (group && state === 'confirmed') await confirmMembers(trx, at, group)
  for (const { id: member, abandonedBecause: reason } of members) {
    const to = { id: member, at, state: state === 'confirmed' ? state : ('cancelled' as const) }
    if (state === 'confirmed' || (reason !== null && (await markSettled(trx, { ...to, reason }))))
      await webhookEvents.recordSettled(trx, to)
  }
  await releaseMembers(trx, { groupId: id, at })
}

/** Members of a group without effect are sent alone: one that is under way, or else one that failed. */
export async function soleOf(
  db: Queries,
  found: ShownTransaction | undefined,
): Promise<ShownTransaction | undefined> {
  if (found?.kind !== groupKind || found.settledAt === null || found.state === 'confirmed') return found
  const members = await findTransactions(db, idsIn(found.args))
  const [first] = members
  const failed = members.find(({ state }) => state !== 'confirmed')
  const one = members.find(({ settledAt }) => settledAt === null) ?? failed ?? first
  return one && showTransaction(db, one.id)
}
