import { newestSettled, nextRetry } from '../../store/webhooks/webhook-health.ts'
import { allWebhooks, webhooksOfTeam } from '../../store/webhooks/webhooks.ts'
import { listedWebhooks, type WebhookDeps, type WebhookView } from './webhooks.ts'

export interface WebhookHealth extends WebhookView {
  /** Of the newest settled deliveries. */
  recent: { delivered: number; failed: number; dropped: number }
  lastDeliveredAt: string | null
  lastFailedAt: string | null
  /** Of the delivery that is being retried, else of the last one if it failed. */
  error: string | null
  nextTryAt: string | null
}

/** Deliveries that are looked at, by index. */
const counted = 200
/** More than a screen shows. */
const maxWebhooks = 100

/** @param teamId undefined: of all teams @param mayEdit the caller may see whole URLs */
export async function webhookHealth(
  deps: WebhookDeps,
  teamId: number | undefined,
  mayEdit: boolean,
): Promise<WebhookHealth[]> {
  const { db } = deps
  const rows = await (teamId === undefined ? allWebhooks(db.read) : webhooksOfTeam(db.read, teamId))
  const views = await listedWebhooks(deps, rows.slice(0, maxWebhooks), mayEdit)
  return Promise.all(
    views.map(async (view) => {
      const settled = await newestSettled(db.slow, { webhookId: view.id, limit: counted })
      const retry = await nextRetry(db.slow, view.id)
      const count = (outcome: string) => settled.filter((one) => one.outcome === outcome).length
      const last = (outcome: string) => settled.find((one) => one.outcome === outcome)?.settledAt ?? null
      const failure = retry ?? (settled[0]?.outcome === 'failed' ? settled[0] : undefined)
      return {
        ...view,
        recent: { delivered: count('delivered'), failed: count('failed'), dropped: count('dropped') },
        lastDeliveredAt: last('delivered'),
        lastFailedAt: last('failed'),
        error: failure === undefined ? null : (failure.error ?? `HTTP ${failure.statusCode}`),
        nextTryAt: retry?.dueAt ?? null,
      }
    }),
  )
}
