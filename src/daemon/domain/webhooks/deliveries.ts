import { testType } from '../../../values/webhook-types.ts'
import { allTeams } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { noteActor } from '../../store/audit/effects.ts'
import { findTransaction } from '../../store/chain/intents.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import type { WebhookDeliveryRow, WebhookRow } from '../../store/schema/schema.ts'
import {
  type DeliveryFilter,
  findDelivery,
  insertDue,
  listDeliveries as listRows,
  reopenDelivery,
  type ShownDelivery,
} from '../../store/webhooks/webhook-deliveries.ts'
import { findWebhook } from '../../store/webhooks/webhooks.ts'
import { conflict, notFound, ownOf } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import type { Deliverer } from './deliverer.ts'
import { newMessageId } from './events.ts'
import { fixedData } from './next-deliveries.ts'
import { targetOf } from './webhooks.ts'

export type DeliveryView = ShownDelivery & { team: string }

interface Deps {
  db: Db
  clock: Clock
  box: SecretBox
  webhooks: Pick<Deliverer, 'sendNow' | 'requested'>
}

/** Limit of manual deliveries, which do not queue. */
const maxRequested = 8
/** Longer than any try: if the daemon is killed during one, the delivery is retried after this. */
const tryMs = 60_000

/** Newest first. */
export async function listDeliveries(
  { db }: Pick<Deps, 'db'>,
  filter: DeliveryFilter,
): Promise<DeliveryView[]> {
  const names = new Map((await allTeams(db.read)).map(({ id, name }) => [id, name]))
  return (await listRows(db.slow, filter)).map((row) => ({ ...row, team: names.get(row.teamId) ?? '' }))
}

/**
 * Sends a test event, without retries. @throws DomainError not_found, conflict if it is disabled, or many are being
 * sent
 */
export const testWebhook = (deps: Deps, actor: Actor, id: number): Promise<DeliveryView> =>
  sendOnRequest(deps, async (trx, { at, dueAt }) => {
    const webhook = assertEnabled(ownOf(actor, await findWebhook(trx, id), 'webhook'))
    // Not recorded in the audit log.
    noteActor(trx, actor)
    const data = JSON.stringify({ webhook: id })
    const message = { webhookId: id, messageId: newMessageId(), type: testType, at, data, dueAt }
    return { webhook, delivery: await insertDue(trx, message) }
  })

/**
 * Sends a delivery again under the same ID, whatever its result was; if this fails, it is tried again like a new one.
 * @throws DomainError not_found, conflict if it still waits, the webhook is disabled, or many are being sent
 */
export const redeliver = (deps: Deps, actor: Actor, id: number): Promise<DeliveryView> =>
  sendOnRequest(deps, async (trx, { at, dueAt }) => {
    const row = ownOf(actor, await findDelivery(trx, id), 'delivery')
    const webhook = assertEnabled(await findWebhook(trx, row.webhookId))
    if (!(await reopenDelivery(trx, { id, at, dueAt })))
      throw conflict('This delivery is still pending: it is retried automatically.')
    await recordChange(trx, {
      ...{ at, actor, teamId: row.teamId, action: 'webhooks.redeliver' },
      target: `${row.webhookId}`,
      detail: { delivery: id, type: row.type },
    })
    // It may have been dropped before its first try.
    const transaction = row.transactionId === null ? undefined : await findTransaction(trx, row.transactionId)
    const data = await fixedData(trx, { ...row, firstHash: transaction?.firstHash ?? null })
    return { webhook, delivery: { ...row, data, attempts: 0, resentAt: at } }
  })

async function sendOnRequest(
  deps: Deps,
  open: (
    trx: Queries,
    times: { at: string; dueAt: string },
  ) => Promise<{ webhook: WebhookRow; delivery: WebhookDeliveryRow }>,
): Promise<DeliveryView> {
  const { db, clock, box, webhooks } = deps
  if (webhooks.requested >= maxRequested)
    throw conflict(
      `${maxRequested} deliveries are being sent on request already. Try again once they have ended.`,
    )
  webhooks.requested += 1
  try {
    const now = clock.now()
    const times = { at: iso(now), dueAt: iso(now + tryMs) }
    const { webhook, delivery } = await db.write((trx) => open(trx, times))
    await webhooks.sendNow(delivery, targetOf(box, webhook))
    return await shown(deps, delivery.id)
  } finally {
    webhooks.requested -= 1
  }
}

function assertEnabled(webhook: WebhookRow | undefined): WebhookRow {
  if (!webhook) throw notFound('webhook')
  if (webhook.disabledAt !== null)
    throw conflict(`The webhook is disabled (${webhook.disabledReason}). Enable it first.`)
  return webhook
}

async function shown({ db }: Pick<Deps, 'db'>, id: number): Promise<DeliveryView> {
  const row = await findDelivery(db.read, id)
  if (!row) throw notFound('delivery')
  const team = (await allTeams(db.read)).find((one) => one.id === row.teamId)
  return { ...row, team: team?.name ?? '' }
}
