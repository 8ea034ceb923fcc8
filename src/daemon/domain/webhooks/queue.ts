import { recordChange } from '../../store/audit/audit.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { type Db, isShared, type Queries } from '../../store/database/database.ts'
import type { WebhookRow } from '../../store/schema/schema.ts'
import { countOpen, findDelivery } from '../../store/webhooks/webhook-deliveries.ts'
import {
  claimDelivery,
  dueDeliveries,
  earliestDue,
  freshDeliveries,
  hastenDeliveries,
  type QueuedDelivery,
  releaseAllDeliveries,
  releaseDelivery,
  settleDelivery,
  tryDeliveryAgain,
  webhooksWithWork,
} from '../../store/webhooks/webhook-queue.ts'
import { allWebhooks, disableWebhook, findWebhook } from '../../store/webhooks/webhooks.ts'
import { type Clock, iso } from '../time/time.ts'
import type { WebhookEvents } from '../webhook-events/webhook-events.ts'
import { dropWaiting, keepNewest } from './prune.ts'
import { secretContext, urlContext, waitingAtMost } from './webhooks.ts'

interface Deps {
  db: Db
  box: SecretBox
  clock: Clock
  webhookEvents: WebhookEvents
  holder: string
  /** In whose name deliveries are claimed that are tried on request; absent: the same. */
  onRequest?: string
  failed(error: unknown): void
}

/** Longer than a claimed message waits for its try; a process that ends frees its claims. */
const claimMs = 5 * 60_000
/** A message whose transaction is about to be signed waits this long for the hash. */
const hashWaitMs = 2000
const hashPollMs = 100
const atOnce = 500
/** Looked at besides, since some may have to wait. */
const lookedAhead = 32

type Ended = { id: number; statusCode: number | null; error: string | null }
type Result = Ended & { outcome: 'delivered' | 'failed' | 'again'; dueAt: number | null }
type Wanted = { webhookId: number; limit: number }

/** The store as the deliverer sees it; see webhooks/deliverer.ts. */
export function deliveryQueue(deps: Deps) {
  const { db, clock, holder } = deps
  const unreadable = new Set<number>()
  return {
    async targets() {
      const enabled = (await allWebhooks(db.read)).filter(({ disabledAt }) => disabledAt === null)
      return enabled.flatMap((row) => {
        try {
          return targetOf(deps.box, row)
        } catch (cause) {
          // One that cannot be read keeps no others from being delivered.
          const message = `Webhook ${row.id} cannot be decrypted, so nothing is sent to it. Remove it and create it anew.`
          if (!unreadable.has(row.id)) deps.failed(new Error(message, { cause }))
          unreadable.add(row.id)
          return []
        }
      })
    },
    async releaseAll() {
      // What is tried on request on another daemon is not freed.
      const except = isShared(db) ? '% now' : ''
      await db.write((trx) => releaseAllDeliveries(trx, { now: iso(clock.now()), except }))
      // Retries are never that far ahead, unless the clock was when they were planned.
      await hasten(deps, 8 * 3_600_000)
    },
    withWork: () => webhooksWithWork(db.read, iso(clock.now())),
    hasten: () => hasten(deps, 0),
    exchange(results: readonly Result[], wanted: readonly Wanted[]) {
      return db.write(async (trx) => {
        for (const result of results) await record(trx, deps, result)
        const claimed = []
        for (const one of wanted) claimed.push(await claim(trx, deps, one))
        return claimed
      })
    },
    release(jobs: readonly { id: number; attempts: number }[]) {
      const now = iso(clock.now())
      return db.write(async (trx) => {
        for (const { id, attempts } of jobs)
          await releaseDelivery(trx, { id, holder, dueAt: attempts === 0 ? null : now })
      })
    },
    async claimed(id: number) {
      const row = await findDelivery(db.read, id)
      return row?.holder === (deps.onRequest ?? holder) ? jobOf(row) : undefined
    },
    disable: ({ id, url }: { id: number; url: string }, reason: string) => disable(deps, id, reason, url),
    async tidy(webhookId: number, isBehind: boolean) {
      const isFull = isBehind && (await countOpen(db.slow, webhookId, waitingAtMost + 1)) > waitingAtMost
      if (isFull) await disable(deps, webhookId, `more than ${waitingAtMost} deliveries were waiting`)
      await keepNewest(deps, webhookId)
      return isFull
    },
  }
}

function targetOf(box: SecretBox, { id, teamId, url, secret, oldSecret, oldSecretUntil }: WebhookRow) {
  const open = (sealed: Uint8Array) => box.open(sealed, secretContext)
  const old = oldSecret === null ? [] : [{ bytes: open(oldSecret), until: oldSecretUntil }]
  return {
    ...{ id, teamId, url: box.open(url, urlContext).toString() },
    secrets: [{ bytes: open(secret), until: null }, ...old],
  }
}

function record(trx: Queries, deps: Deps, { outcome, dueAt, ...result }: Result) {
  const { clock, holder, onRequest = holder } = deps
  const ended = { ...result, holder, onRequest }
  return outcome === 'again'
    ? tryDeliveryAgain(trx, { ...ended, dueAt: iso(dueAt ?? clock.now()) })
    : settleDelivery(trx, { ...ended, outcome, at: iso(clock.now()) })
}

async function claim(trx: Queries, { clock, holder }: Deps, { webhookId, limit }: Wanted) {
  const now = clock.now()
  const times = { now: iso(now), until: iso(now + claimMs) }
  const due = await dueDeliveries(trx, { webhookId, now: times.now, limit: Math.ceil(limit / 2) })
  const room = limit - due.length
  const fresh = await freshDeliveries(trx, { webhookId, now: times.now, limit: room + lookedAhead })
  const jobs = []
  const heldUp = new Set<string>()
  let waiting = 0
  for (const row of [...due, ...fresh]) {
    if (jobs.length === limit) break
    const isFirst = row.dueAt === null
    if (isFirst && (isUnsigned(row, now) || (row.chipUid !== null && heldUp.has(row.chipUid)))) {
      // A chip's later messages wait with it.
      if (row.chipUid !== null) heldUp.add(row.chipUid)
      waiting += 1
      continue
    }
    const data = isFirst ? dataOf(row) : row.data
    if (await claimDelivery(trx, { id: row.id, holder, data, ...times })) jobs.push(jobOf({ ...row, data }))
  }
  const next = await earliestDue(trx, webhookId)
  const nextDueAt = next === undefined ? Number.POSITIVE_INFINITY : Date.parse(next)
  return {
    webhookId,
    jobs,
    isMore: jobs.length === limit,
    nextDueAt: waiting > 0 ? Math.min(nextDueAt, now + hashPollMs) : nextDueAt,
  }
}

const isUnsigned = ({ transactionId, firstHash, at }: QueuedDelivery, now: number): boolean =>
  transactionId !== null && firstHash === null && Math.abs(now - Date.parse(at)) < hashWaitMs

/** With the hash as of the first try: later tries must say the same. */
const dataOf = ({ data, firstHash }: QueuedDelivery): string =>
  firstHash === null ? data : JSON.stringify({ ...JSON.parse(data), initialTxHash: firstHash })

const jobOf = (row: Omit<QueuedDelivery, 'firstHash'>) => ({
  ...{ id: row.id, webhookId: row.webhookId, messageId: row.messageId, type: row.type, at: row.at },
  ...{ chipUid: row.chipUid, data: row.data, attempts: row.attempts, since: row.resentAt ?? row.at },
})

/** @param url disabled only while it has this one */
async function disable(deps: Deps, id: number, reason: string, url?: string): Promise<void> {
  const { db, clock, webhookEvents } = deps
  const at = iso(clock.now())
  await db.write(async (trx) => {
    const row = await findWebhook(trx, id)
    if (row && url !== undefined && deps.box.open(row.url, urlContext).toString() !== url) return
    if (!row || !(await disableWebhook(trx, { id, at, reason }))) return
    await recordChange(trx, {
      at,
      actor: { name: 'daemon', requestId: null },
      teamId: row.teamId,
      action: 'webhooks.disable',
      target: `${id} ${row.origin}`,
      detail: { reason },
    })
  })
  await webhookEvents.load(db.read)
  await dropWaiting(deps, id)
}

async function hasten({ db, clock }: Deps, aheadMs: number): Promise<void> {
  const now = clock.now()
  const of = { now: iso(now), latest: iso(now + aheadMs), limit: atOnce }
  while ((await db.write((trx) => hastenDeliveries(trx, of))) === atOnce) await new Promise(setImmediate)
}
