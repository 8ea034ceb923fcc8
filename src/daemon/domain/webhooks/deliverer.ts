import { setTimeout as sleep } from 'node:timers/promises'
import { nanoid } from 'nanoid'
import { BackgroundLoop } from '../../../values/background-loop.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import type { WebhookRow } from '../../store/schema/schema.ts'
import { countOpen } from '../../store/webhooks/webhook-deliveries.ts'
import { recordTry, webhookQueues } from '../../store/webhooks/webhook-queue.ts'
import { findWebhook } from '../../store/webhooks/webhooks.ts'
import { iso } from '../time/time.ts'
import { Endpoint } from './endpoint.ts'
import type { WebhookEvents } from './events.ts'
import { nextDeliveries } from './next-deliveries.ts'
import { deleteRemoved, dropForDisabled, keepNewest } from './prune.ts'
import { type Delivery, type SendDeps, send, type Target } from './send.ts'
import { Throttle } from './throttle.ts'
import { disableFailing, maxWaiting, targetOf } from './webhooks.ts'

interface Deps extends SendDeps {
  db: Db
  box: SecretBox
  webhookEvents: WebhookEvents
  failed(error: unknown): void
}

/** Number of endpoints served concurrently: this many fast ones, and as many slow ones. */
const maxServed = 32
/** A receiver that takes longer counts as slow. */
const quickMs = 1000
/** After this time, an endpoint makes room for others that wait. */
const turnMs = 1000
/** Minimum per turn, however slow the receiver is: a retry and a first try. */
const minSent = 2
/** Deliveries sent between two writes; after a crash, these may be sent again. */
const batchSize = 20
const wokenMs = 50
/** Other daemons send no signal, so this polls for what they left. */
const restMs = 1000
/** After a failure, for example because the disk is full. */
const failedRestMs = 3000
const lastTriesMs = 2000
const pruneEveryMs = 10_000
/**
 * Delivers webhook messages: each at least once, even after a crash, and one at a time to each endpoint. Daemons on
 * one database share the endpoints by leases.
 */
export class Deliverer {
  readonly outbound: SendDeps['outbound']
  /** Deliveries that are being sent on request. */
  requested = 0
  readonly #deps: Deps
  readonly #throttle = new Throttle()
  readonly #holder = nanoid()
  readonly #loop: BackgroundLoop<void>
  #endpoints = new Map<number, Endpoint>()
  readonly #running = new Set<Promise<void>>()
  #nextDueAt = Number.POSITIVE_INFINITY
  /** Incremented when webhooks change; URLs read before are then no longer called. */
  #changes = 0
  #isFailing = false

  constructor(deps: Deps) {
    this.#deps = deps
    this.outbound = deps.outbound
    deps.webhookEvents.onRecorded(() => this.recorded())
    this.#loop = new BackgroundLoop({
      run: () => this.#run(),
      restMs: () => {
        if (this.#isFailing) return failedRestMs
        return Math.min(Math.max(this.#nextDueAt - deps.clock.now(), wokenMs), restMs)
      },
      wokenMs: () => (this.#isFailing ? failedRestMs : wokenMs),
      failed: (error) => this.#failed(error),
    })
  }

  start(): void {
    this.#loop.start()
    Promise.all([deleteRemoved(this.#deps), dropForDisabled(this.#deps)]).catch(this.#deps.failed)
  }

  /** Waits briefly for attempts in progress. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await Promise.race([Promise.all(this.#running), sleep(lastTriesMs, undefined, { ref: false })])
    // Records finished deliveries, so that they are not sent again even if another try hangs.
    const endpoints = [...this.#endpoints.values()].filter(({ unrecorded }) => unrecorded.length > 0)
    await Promise.allSettled(endpoints.map((endpoint) => this.#recordAndClaim(endpoint, 0)))
  }

  /** An event was recorded. Called often, so it must be cheap. */
  recorded(): void {
    this.#throttle.recorded()
    this.#loop.wake()
  }

  /** Call it after creating, changing, or removing webhooks. */
  async changed(): Promise<void> {
    const { webhookEvents, db } = this.#deps
    await webhookEvents.load(db.read)
    this.#changes += 1
    this.#loop.wake()
  }

  /** Tries a delivery at once, ahead of everything that waits. */
  async sendNow(delivery: Delivery, target: Target): Promise<void> {
    const result = await send(this.#deps, delivery, target)
    await this.#deps.db.write((trx) => recordTry(trx, result))
  }

  async #run(): Promise<void> {
    const { db, clock } = this.#deps
    const queues = await webhookQueues(db.read)
    this.#endpoints = new Map([
      ...[...this.#endpoints].filter(([, { isServed }]) => isServed),
      ...queues.map(
        ({ id }) => [id, this.#endpoints.get(id) ?? new Endpoint(id, { db, holder: this.#holder })] as const,
      ),
    ])
    const now = iso(clock.now())
    const isDue = ({ untried, dueAt }: (typeof queues)[number]) =>
      untried !== null || (dueAt !== null && dueAt <= now)
    const later = queues.flatMap((queue) => (queue.dueAt === null || isDue(queue) ? [] : [queue.dueAt]))
    this.#nextDueAt = Math.min(...later.map((at) => Date.parse(at)))
    const due = queues
      .flatMap((queue) => (isDue(queue) ? (this.#endpoints.get(queue.id) ?? []) : []))
      .filter(({ isServed }) => !isServed)
      // Endpoints that waited longest come first.
      .sort((one, other) => one.servedAt - other.servedAt)
    for (const endpoint of due) if (this.#isRoomFor(endpoint)) this.#serve(endpoint)
    await Promise.all([...this.#endpoints.values()].map((endpoint) => endpoint.renewLease()))
    if (due.length === 0) this.#isFailing = false
  }

  #isRoomFor({ isSlow }: Endpoint): boolean {
    const served = [...this.#endpoints.values()].filter((one) => one.isServed && one.isSlow === isSlow)
    return served.length < maxServed
  }

  #serve(endpoint: Endpoint): void {
    endpoint.isServed = true
    endpoint.servedAt = this.#deps.clock.monotonic()
    const turn = endpoint
      .whileLeased(() => this.#serveTurn(endpoint))
      .then((isMore) => {
        if (isMore) this.#loop.wake()
      })
      .catch((error) => this.#failed(error))
      .then(() => {
        endpoint.isServed = false
        this.#running.delete(turn)
      })
    this.#running.add(turn)
  }

  /** Serves an endpoint until nothing is due or its time is over. @returns true if more may be due soon */
  async #serveTurn(endpoint: Endpoint): Promise<boolean> {
    const { clock } = this.#deps
    await this.#prune(endpoint)
    const endsAt = clock.monotonic() + turnMs
    for (let isFirst = true; ; isFirst = false) {
      const isOver = () => this.#loop.isEnding || clock.monotonic() >= endsAt
      const batch = await this.#recordAndClaim(endpoint, isOver() ? 0 : batchSize)
      if (!batch || batch.deliveries.length === 0) return batch?.isBlocked || !isFirst
      const target = this.#read(endpoint, batch.webhook)
      const isGone = target && (await this.#sendAll(endpoint, batch.deliveries, target, isOver))
      if (target && !isGone) continue
      await this.#recordAndClaim(endpoint, 0)
      if (!target) return false
      await disableFailing(this.#deps, endpoint.id, 'the receiver answered 410 Gone', target.url)
      return true
    }
  }

  /** @returns true if the receiver is permanently gone */
  async #sendAll(
    endpoint: Endpoint,
    deliveries: readonly Delivery[],
    target: Target,
    hasTimedOut: () => boolean,
  ): Promise<boolean> {
    const changes = this.#changes
    for (const [sent, delivery] of deliveries.entries()) {
      const delayMs = this.#throttle.delayMs()
      if (delayMs > 0) await sleep(delayMs)
      if (sent >= minSent ? hasTimedOut() : this.#loop.isEnding) return false
      if (changes !== this.#changes || !endpoint.isCertain) return false
      let isSlow = false
      const slow = setTimeout(() => {
        isSlow = true
        endpoint.isSlow = true
        this.#loop.wake()
      }, quickMs)
      const result = await send(this.#deps, delivery, target)
      clearTimeout(slow)
      endpoint.isSlow = isSlow
      endpoint.unrecorded.push(result)
      if (result.statusCode === 410) return true
    }
    return false
  }

  /**
   * In one write, stores the results of the last batch and reads the next one. @param limit 0: none @throws LeaseLost
   */
  async #recordAndClaim(endpoint: Endpoint, limit: number) {
    const { clock } = this.#deps
    const { id, unrecorded } = endpoint
    const batch = await endpoint.write(async (trx) => {
      for (const result of unrecorded) await recordTry(trx, result)
      const webhook = limit === 0 ? undefined : await findWebhook(trx, id)
      if (webhook?.disabledAt !== null) return undefined
      return { webhook, ...(await nextDeliveries(trx, { id, now: clock.now(), limit })) }
    })
    endpoint.unrecorded = []
    this.#isFailing = false
    return batch
  }

  #read(endpoint: Endpoint, webhook: WebhookRow): Target | undefined {
    try {
      return targetOf(this.#deps.box, webhook)
    } catch (cause) {
      const message = `Webhook ${endpoint.id} cannot be decrypted, so nothing is sent to it. Remove it and create it again.`
      if (!endpoint.isReported) this.#deps.failed(new Error(message, { cause }))
      endpoint.isReported = true
      return undefined
    }
  }

  async #prune(endpoint: Endpoint): Promise<void> {
    const { db, clock } = this.#deps
    if (clock.monotonic() - endpoint.prunedAt < pruneEveryMs) return
    endpoint.prunedAt = clock.monotonic()
    const { id } = endpoint
    if ((await countOpen(db.slow, id, maxWaiting + 1)) > maxWaiting)
      await disableFailing(this.#deps, id, `more than ${maxWaiting} deliveries were waiting`)
    await keepNewest(this.#deps, id)
  }

  /** Only the first of consecutive failures is logged: the log may be on the disk that is full. */
  #failed(error: unknown): void {
    if (!this.#isFailing && !this.#loop.isEnding) this.#deps.failed(error)
    this.#isFailing = true
  }
}
