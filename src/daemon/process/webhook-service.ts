import { nanoid } from 'nanoid'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { BudgetClock } from '../domain/time/time.ts'
import type { WebhookEvents } from '../domain/webhook-events/webhook-events.ts'
import { dropForDisabled } from '../domain/webhooks/prune.ts'
import { deliveryQueue } from '../domain/webhooks/queue.ts'
import { deleteRemoved, type WebhookSender } from '../domain/webhooks/webhooks.ts'
import { boundedLookUp } from '../outbound/look-up.ts'
import { createOutbound, OutboundRefused, whyNotCallable } from '../outbound/outbound.ts'
import type { SecretBox } from '../store/data-dir/secret-box.ts'
import { type Db, isShared } from '../store/database/database.ts'
import type { Election } from '../store/lease/leader-election.ts'
import { Deliverer } from '../webhooks/deliverer.ts'
import { Pace } from '../webhooks/pace.ts'
import type { Metrics } from './metrics.ts'

interface Deps {
  config: Pick<Config, 'webhooksPrivate'>
  db: Db
  box: SecretBox
  clock: BudgetClock & { monotonic(): number }
  log: Logger
  metrics: Pick<Metrics, 'webhookTries'>
  webhookEvents: WebhookEvents
  auditHead: () => string
  election: Election
}

export type WebhookService = WebhookSender & { start(): void; stop(): Promise<void> }

/** Delivers what is recorded for webhooks. Only the daemon's own configuration allows private addresses. */
export function webhookService(deps: Deps): WebhookService {
  const { config, db, clock, log, metrics, webhookEvents, election } = deps
  const utilization = eventLoopShare()
  const isPrivateAllowed = config.webhooksPrivate
  const holder = nanoid()
  const onRequest = `${holder} now`
  const outbound = createOutbound({
    allowPrivate: isPrivateAllowed ? 'all' : [],
    lookup: boundedLookUp({ asksSystem: isPrivateAllowed }),
    timeoutMs: 10_000,
    maxBytes: 0,
  })
  const failed = (err: unknown) => log.error({ err }, 'webhooks could not be delivered')
  const deliverer = new Deliverer({
    store: deliveryQueue({ ...deps, holder, onRequest, failed }),
    clock,
    failed,
    ...(isShared(db) ? { election } : {}),
    pace: new Pace({ monotonic: () => performance.now(), utilization }),
    auditHead: deps.auditHead,
    tried: (outcome) => metrics.webhookTries.inc({ outcome }),
    send: async (request) => {
      // The setting may have changed since the URL was registered.
      const reason = whyNotCallable(request.url, isPrivateAllowed)
      if (reason !== undefined) throw new OutboundRefused('url', `The URL ${reason}`)
      return outbound.request(request)
    },
  })
  election.onElected(() => deliverer.changed(true))
  webhookEvents.onRecorded((teamId) => deliverer.recorded(teamId))
  return {
    holder: onRequest,
    onRequest: new Set(),
    whyNot: (url) => whyNotCallable(url, isPrivateAllowed),
    tryNow: (id) => deliverer.tryNow(id),
    async changed() {
      await webhookEvents.load(db.read)
      deliverer.changed()
    },
    start() {
      deliverer.start()
      Promise.all([deleteRemoved(deps), dropForDisabled(deps)]).catch(failed)
    },
    stop: () => deliverer.stop(),
  }
}

/** @returns a function that says how busy the event loop was since the last call, from 0 to 1 */
function eventLoopShare(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const before = last
    last = performance.eventLoopUtilization()
    return performance.eventLoopUtilization(last, before).utilization
  }
}
