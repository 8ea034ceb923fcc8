import { createHmac } from 'node:crypto'
import { testType } from '../../../values/webhook-types.ts'
import { plainText, retryAfterMs } from '../../outbound/foreign-text.ts'
import type { WebhookDeliveryRow } from '../../store/schema/schema.ts'
import type { TryResult } from '../../store/webhooks/webhook-queue.ts'
import { type BudgetClock, iso } from '../time/time.ts'

/** Sends requests to receivers. */
export interface WebhookOutbound {
  /** Explains why a URL is never called; undefined if it may be. */
  whyNot(url: string): string | undefined
  /** Does not follow redirects, and rejects if there is no answer within ten seconds. */
  post(request: {
    url: string
    headers: Readonly<Record<string, string>>
    body: string
  }): Promise<{ status: number; headers: { readonly 'retry-after'?: string | undefined } }>
}

export interface SendDeps {
  outbound: WebhookOutbound
  clock: BudgetClock
  /** The hash of the newest entry of the audit log, so that it is known elsewhere as well. */
  auditHead(): string
  tried(outcome: 'delivered' | 'failed' | 'again'): void
}

/** The parts of a webhook that sending needs. */
export interface Target {
  url: string
  /** Newest first; during a rotation, the previous one signs too. */
  secrets: readonly { bytes: Uint8Array; until: string | null }[]
}

export type Delivery = Pick<
  WebhookDeliveryRow,
  'id' | 'messageId' | 'type' | 'at' | 'data' | 'attempts' | 'resentAt'
>

const firstRetryMs = 2000
const retryGrowth = 1.5
const maxRetryMs = 6 * 3_600_000
const retryPeriodMs = 3 * 24 * 3_600_000
const retryAfterBounds = { min: 0, max: maxRetryMs }

/** Tries once. Never throws: all failures are part of the result. */
export async function send(deps: SendDeps, delivery: Delivery, target: Target): Promise<TryResult> {
  const { clock } = deps
  const { id, type, attempts } = delivery
  const { isDelivered, statusCode, error, retryAfterMs: askedMs = 0 } = await post(deps, delivery, target)
  const delay = Math.max(retryDelayMs(attempts + 1), askedMs)
  const since = Date.parse(delivery.resentAt ?? delivery.at)
  const isLast = type === testType || clock.confirmedTime() + delay - since > retryPeriodMs
  const outcome = isDelivered ? 'delivered' : isLast ? 'failed' : null
  deps.tried(outcome ?? 'again')
  const now = clock.now()
  return {
    ...{ id, attempts, outcome, statusCode, error },
    settledAt: outcome === null ? null : iso(now),
    dueAt: outcome === null ? iso(now + delay) : null,
  }
}

interface Answer {
  isDelivered: boolean
  statusCode: number | null
  error: string | null
  retryAfterMs?: number | undefined
}

async function post(
  { outbound, clock, auditHead }: SendDeps,
  { messageId, type, at, data }: Delivery,
  { url, secrets }: Target,
): Promise<Answer> {
  const body = `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(at)},"data":${data}}`
  const now = clock.now()
  const valid = secrets.filter(({ until }) => until === null || Date.parse(until) > now)
  const signing = valid.map(({ bytes }) => bytes)
  const signed = signedHeaders({ id: messageId, body }, signing, Math.floor(now / 1000))
  try {
    const headers = { ...signed, 'tapchip-audit-head': auditHead() }
    const answer = await outbound.post({ url, headers, body })
    const { status: statusCode } = answer
    if (statusCode >= 200 && statusCode < 300) return { isDelivered: true, statusCode, error: null }
    const isRedirect = statusCode >= 300 && statusCode < 400
    const error = `the receiver answered ${statusCode}${isRedirect ? ': redirects are not followed' : ''}`
    const askedMs = retryAfterMs(answer.headers['retry-after'], now, retryAfterBounds)
    return { isDelivered: false, statusCode, error, retryAfterMs: askedMs }
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown error'
    return { isDelivered: false, statusCode: null, error: plainText(reason) }
  }
}

/** Headers of the Standard Webhooks convention. @param seconds since the epoch, of this try */
function signedHeaders(
  { id, body }: { id: string; body: string },
  secrets: readonly Uint8Array[],
  seconds: number,
): Record<string, string> {
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(sign).join(' '),
  }
}

/**
 * Milliseconds until the next try: 2 seconds, then half as long again each time, up to 6 hours. A fifth more or less
 * by chance, so that messages which failed together do not come back together.
 */
function retryDelayMs(failed: number): number {
  const delay = Math.min(firstRetryMs * retryGrowth ** (failed - 1), maxRetryMs)
  return Math.round(delay * (0.8 + 0.4 * Math.random()))
}
