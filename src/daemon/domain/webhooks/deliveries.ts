import { testType } from '../../../values/webhook-types.ts'
import { allTeams } from '../../store/access/teams.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { noteActor } from '../../store/audit/effects.ts'
import {
  type DeliveryFilter,
  findDelivery,
  insertClaimed,
  listDeliveries as listRows,
  reopenDelivery,
  type ShownDelivery,
} from '../../store/webhooks/webhook-deliveries.ts'
import { findWebhook } from '../../store/webhooks/webhooks.ts'
import { conflict, notFound } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { newMessageId } from '../webhook-events/webhook-events.ts'
import type { WebhookDeps } from './webhooks.ts'

export type DeliveryView = ShownDelivery & { team: string }

/** On request, since these wait for no place. */
const mostAtOnce = 8
/** Longer than any try. */
const claimMs = 60_000

/** Newest first. */
export async function listDeliveries(
  { db }: Pick<WebhookDeps, 'db'>,
  filter: DeliveryFilter,
): Promise<DeliveryView[]> {
  const names = new Map((await allTeams(db.read)).map(({ id, name }) => [id, name]))
  return (await listRows(db.slow, filter)).map((row) => ({ ...row, team: names.get(row.teamId) ?? '' }))
}

/** Sends a message that says nothing, once. @throws DomainError not_found, conflict if it is disabled, or many are being sent */
export const testWebhook = (deps: WebhookDeps, actor: Actor, id: number): Promise<DeliveryView> =>
  onRequest(deps, () => test(deps, actor, id))

async function test(deps: WebhookDeps, actor: Actor, id: number): Promise<DeliveryView> {
  const { db, clock, webhooks } = deps
  const now = clock.now()
  const row = await db.write(async (trx) => {
    assertEnabled(await findWebhook(trx, id))
    // It has no entry in the audit log.
    noteActor(trx, actor)
    return insertClaimed(trx, {
      ...{ webhookId: id, messageId: newMessageId(), type: testType, at: iso(now) },
      data: JSON.stringify({ webhook: id }),
      holder: webhooks.holder,
      dueAt: iso(now + claimMs),
    })
  })
  await webhooks.tryNow(row.id)
  return shown(deps, row.id)
}

/**
 * Sends a delivery again under the same ID, whatever became of it; if this fails, it is tried again like a new one.
 * @throws DomainError not_found, conflict if it still waits, the webhook is disabled, or many are being sent
 */
export const redeliver = (deps: WebhookDeps, actor: Actor, id: number): Promise<DeliveryView> =>
  onRequest(deps, () => sendAgain(deps, actor, id))

async function sendAgain(deps: WebhookDeps, actor: Actor, id: number): Promise<DeliveryView> {
  const { db, clock, webhooks } = deps
  const now = clock.now()
  await db.write(async (trx) => {
    const row = await findDelivery(trx, id)
    if (!row) throw notFound('delivery')
    assertEnabled(await findWebhook(trx, row.webhookId))
    const claim = { id, at: iso(now), holder: webhooks.holder, dueAt: iso(now + claimMs) }
    if (!(await reopenDelivery(trx, claim)))
      throw conflict('This delivery still waits: it is tried again by itself.')
    await recordChange(trx, {
      ...{ at: iso(now), actor, teamId: row.teamId, action: 'webhooks.redeliver' },
      target: `${row.webhookId}`,
      detail: { delivery: id, type: row.type },
    })
  })
  await webhooks.tryNow(id)
  return shown(deps, id)
}

async function onRequest<T>({ webhooks }: WebhookDeps, send: () => Promise<T>): Promise<T> {
  if (webhooks.onRequest.size >= mostAtOnce)
    throw conflict(
      `${mostAtOnce} deliveries are being sent on request already. Try again once they have ended.`,
    )
  const one = Symbol()
  webhooks.onRequest.add(one)
  return send().finally(() => webhooks.onRequest.delete(one))
}

function assertEnabled(webhook: { disabledAt: string | null; disabledReason: string | null } | undefined) {
  if (!webhook) throw notFound('webhook')
  if (webhook.disabledAt !== null)
    throw conflict(`The webhook is disabled (${webhook.disabledReason}). Enable it first.`)
}

async function shown({ db }: WebhookDeps, id: number): Promise<DeliveryView> {
  const row = await findDelivery(db.read, id)
  if (!row) throw notFound('delivery')
  const team = (await allTeams(db.read)).find((one) => one.id === row.teamId)
  return { ...row, team: team?.name ?? '' }
}
