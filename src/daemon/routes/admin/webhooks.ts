import type { FastifyInstance } from 'fastify'
import { permits } from '../../../values/scopes.ts'
import { getTeam, namedTeam, resolveTeam, teamNames } from '../../domain/access/teams.ts'
import {
  type DeliveryView,
  listDeliveries,
  redeliver,
  testWebhook,
} from '../../domain/webhooks/deliveries.ts'
import { webhookHealth } from '../../domain/webhooks/health.ts'
import {
  createWebhook,
  editWebhook,
  listWebhooks,
  removeWebhook,
  rollSecret,
  type WebhookView,
} from '../../domain/webhooks/webhooks.ts'
import { bindAll } from '../../http/bind.ts'
import type { Context } from '../../process/context.ts'
import { pick } from '../wire-shapes.ts'

const defaultLimit = 100

export function webhookRoutes(app: FastifyInstance, ctx: Context): void {
  const named = async <T extends WebhookView>(webhook: T) =>
    toWire(webhook, (await getTeam(ctx, webhook.teamId)).name)
  bindAll(app, ctx, {
    'GET /admin/webhooks': async ({ query, teamId, keyTeam, holder }) => {
      const team = await resolveTeam(ctx, { name: query.team, teamId, keyTeam })
      const webhooks = await listWebhooks(ctx, team.id, permits(holder.scopes, 'edit'))
      return webhooks.map((webhook) => toWire(webhook, team.name))
    },
    'GET /admin/webhooks/health': async ({ query, teamId, keyTeam, holder }) => {
      const team = await namedTeam(ctx, { name: query.team, teamId, keyTeam })
      const webhooks = await webhookHealth(ctx, team?.id, permits(holder.scopes, 'edit'))
      const names = await teamNames(ctx)
      return webhooks.map((webhook) => ({
        ...toWire(webhook, names.get(webhook.teamId) ?? ''),
        ...pick(webhook, 'recent', 'lastDeliveredAt', 'lastFailedAt', 'error', 'nextTryAt'),
      }))
    },
    'POST /admin/webhooks': async ({ body, teamId, keyTeam, actor }) => {
      const team = await resolveTeam(ctx, { name: body.team, teamId, keyTeam })
      const webhook = await createWebhook(
        ctx,
        { teamId: team.id, actor },
        { url: body.url, events: body.events },
      )
      return { ...(await named(webhook)), secret: webhook.secret }
    },
    'PATCH /admin/webhooks/:id': async ({ params, body, actor }) =>
      named(await editWebhook(ctx, actor, params.id, body)),
    'DELETE /admin/webhooks/:id': async ({ params, actor }) => {
      await removeWebhook(ctx, actor, params.id)
      return { success: true as const }
    },
    'POST /admin/webhooks/:id/roll': async ({ params, actor }) => {
      const webhook = await rollSecret(ctx, actor, params.id)
      return { ...(await named(webhook)), secret: webhook.secret }
    },
    'POST /admin/webhooks/:id/test': async ({ params, actor }) =>
      deliveryToWire(await testWebhook(ctx, actor, params.id)),
    'GET /admin/webhook-deliveries': async ({ query, teamId, keyTeam }) => {
      const { team: name, webhook: webhookId, limit = defaultLimit, ...filter } = query
      const team = await namedTeam(ctx, { name, teamId, keyTeam })
      return (await listDeliveries(ctx, { ...filter, webhookId, limit, teamId: team?.id })).map(
        deliveryToWire,
      )
    },
    'POST /admin/webhook-deliveries/:id/redeliver': async ({ params, actor }) =>
      deliveryToWire(await redeliver(ctx, actor, params.id)),
  })
}

const toWire = (webhook: WebhookView, team: string) => ({
  ...pick(webhook, 'id', 'url', 'events', 'createdAt', 'disabledAt', 'disabledReason'),
  ...pick(webhook, 'rollingUntil', 'waiting'),
  team,
})

const deliveryToWire = (row: DeliveryView) => ({
  ...pick(row, 'id', 'team', 'messageId', 'type', 'attempts', 'statusCode', 'error', 'at', 'settledAt'),
  webhook: row.webhookId,
  state: row.outcome ?? ('waiting' as const),
  nextTryAt: row.settledAt === null ? row.dueAt : null,
})
