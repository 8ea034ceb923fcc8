import type { OnSettled } from '../../chain/relayer/sender.ts'
import { confirmMembers, idsIn, membersOf, releaseMembers } from '../../store/chain/groups.ts'
import { findTransaction, findTransactions, isGroup } from '../../store/chain/intents.ts'
import { type ShownTransaction, showTransaction } from '../../store/chain/listing.ts'
import { markSettled } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import type { WebhookEvents } from '../webhooks/events.ts'

/** Webhooks report each member, not the group. Members without effect are sent alone. */
export async function settleMembers(
  trx: Queries,
  { id, state, at, refused = [] }: Parameters<OnSettled>[1],
  webhookEvents: WebhookEvents,
): Promise<void> {
  const group = await findTransaction(trx, id)
  const members = await membersOf(trx, id)
  if (group && state === 'confirmed') await confirmMembers(trx, at, group, refused)
  for (const { id: member, abandonedBecause: reason } of members) {
    const isDone = state === 'confirmed' && !refused.includes(member)
    const to = { id: member, at, state: isDone ? state : ('cancelled' as const) }
    if (isDone || (reason !== null && (await markSettled(trx, { ...to, reason }))))
      await webhookEvents.recordSettled(trx, to)
  }
  await releaseMembers(trx, { groupId: id, at })
}

/** Members of a group without effect are sent alone: one that is under way, or else one that failed. */
export async function soleOf(
  db: Queries,
  found: ShownTransaction | undefined,
): Promise<ShownTransaction | undefined> {
  if (!found || !isGroup(found.kind) || found.settledAt === null || found.state === 'confirmed') return found
  const members = await findTransactions(db, idsIn(found.args))
  const [first] = members
  const failed = members.find(({ state }) => state !== 'confirmed')
  const one = members.find(({ settledAt }) => settledAt === null) ?? failed ?? first
  return one && showTransaction(db, one.id)
}
