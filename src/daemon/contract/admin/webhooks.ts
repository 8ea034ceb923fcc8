import * as z from 'zod'
import { webhookTypes } from '../../../values/webhook-types.ts'
import { adminEndpoint } from '../endpoint.ts'
import { integer, name, page, success, team, timestamp } from '../fields.ts'
import { shortList } from '../list.ts'

const webhookOnWire = () =>
  z.object({
    id: z.number(),
    team: z.string(),
    /** Omits path and query for tokens without the scope edit. */
    url: z.string(),
    events: z.array(z.string()),
    createdAt: timestamp,
    disabledAt: timestamp.nullable(),
    disabledReason: z.string().nullable(),
    /** Until then, the previous secret signs too. */
    rollingUntil: timestamp.nullable(),
    /** Deliveries that wait, counted up to 100,000. */
    waiting: z.number(),
  })

const withSecret = () => webhookOnWire().extend({ secret: z.string().describe('whsec_ and base64') })

const states = ['waiting', 'delivered', 'failed', 'dropped'] as const

const deliveryOnWire = () =>
  z.object({
    id: z.number(),
    webhook: z.number(),
    team: z.string(),
    /** The header `webhook-id`, the same at each try. */
    messageId: z.string(),
    type: z.string(),
    /** `dropped`: the webhook was disabled, or a backup was restored. */
    state: z.enum(states),
    /** Finished attempts, or failed ones while it waits. */
    attempts: z.number(),
    nextTryAt: timestamp.nullable(),
    /** HTTP status code of the last response. */
    statusCode: z.number().nullable(),
    error: z.string().nullable(),
    at: timestamp.describe('when it happened'),
    settledAt: timestamp.nullable(),
  })

const params = () => z.object({ id: integer(1) })
const type = z.enum(webhookTypes, `must be one of ${webhookTypes.join(', ')}`)
const events = shortList(type, { notEmpty: 'must name at least one type', max: 50 })
const url = name(2048)

export const webhooks = {
  'GET /admin/webhooks': adminEndpoint({
    id: 'listWebhooks',
    summary: "List a team's webhooks",
    scope: 'read',
    query: () => z.object(team),
    response: () => z.array(webhookOnWire()),
  }),
  'GET /admin/webhooks/health': adminEndpoint({
    id: 'getWebhookHealth',
    summary: 'Tell how the deliveries of webhooks go; at most 100 webhooks',
    scope: 'read',
    query: () => z.object(team),
    response: () =>
      z.array(
        webhookOnWire().extend({
          recent: z
            .object({ delivered: z.number(), failed: z.number(), dropped: z.number() })
            .describe('of the last 200'),
          lastDeliveredAt: timestamp.nullable(),
          lastFailedAt: timestamp.nullable(),
          error: z.string().nullable().describe('of the last try, if it failed'),
          nextTryAt: timestamp.nullable().describe('of a delivery that failed and is tried again'),
        }),
      ),
  }),
  'POST /admin/webhooks': adminEndpoint({
    id: 'createWebhook',
    summary: 'Register a webhook, by default for all types of events; only this answer shows its secret',
    scope: 'edit',
    body: () => z.object({ ...team, url, events: events.optional() }),
    response: withSecret,
    noStore: true,
  }),
  'PATCH /admin/webhooks/:id': adminEndpoint({
    id: 'editWebhook',
    summary:
      'Change the URL or events of a webhook, or disable it: pending deliveries are dropped, and nothing more is recorded',
    scope: 'edit',
    params,
    body: () =>
      z.object({ url: url.optional(), events: events.optional(), disabled: z.boolean().optional() }),
    response: webhookOnWire,
  }),
  'DELETE /admin/webhooks/:id': adminEndpoint({
    id: 'deleteWebhook',
    summary: 'Remove a webhook with its deliveries',
    scope: 'edit',
    params,
    response: success,
  }),
  'POST /admin/webhooks/:id/roll': adminEndpoint({
    id: 'rollWebhookSecret',
    summary: 'Give a webhook a new secret; for 24 hours, the old one signs too',
    scope: 'edit',
    params,
    response: withSecret,
    noStore: true,
  }),
  'POST /admin/webhooks/:id/test': adminEndpoint({
    id: 'testWebhook',
    summary: 'Send a webhook one message of the type webhook.test, once, and answer with the result',
    scope: 'edit',
    params,
    response: deliveryOnWire,
  }),
  'GET /admin/webhook-deliveries': adminEndpoint({
    id: 'listWebhookDeliveries',
    summary: 'List deliveries of webhooks, newest first',
    scope: 'read',
    query: () =>
      z.object({
        ...team,
        webhook: integer(1).optional(),
        state: z.enum(states, `must be one of ${states.join(', ')}`).optional(),
        ...page,
      }),
    response: () => z.array(deliveryOnWire()),
  }),
  'POST /admin/webhook-deliveries/:id/redeliver': adminEndpoint({
    id: 'redeliverWebhook',
    summary: 'Send a delivery again under the same ID, and answer with the result',
    scope: 'edit',
    params,
    response: deliveryOnWire,
  }),
} as const
