import { testType } from '../../values/webhook-types.ts'
import { plainText, retryAfterMs } from '../outbound/foreign-text.ts'
import type { OutboundAnswer, OutboundRequest } from '../outbound/outbound.ts'
import type { Job, Target } from './lane.ts'
import { givenUpAfterMs, retryDelayMs } from './retries.ts'
import { signedHeaders } from './signing.ts'

/** What became of a try. */
export interface Result {
  id: number
  outcome: 'delivered' | 'failed' | 'again'
  /** Of the next try, in milliseconds since the epoch. */
  dueAt: number | null
  statusCode: number | null
  error: string | null
}

export interface TryDeps {
  send(request: OutboundRequest): Promise<Pick<OutboundAnswer, 'status' | 'headers'>>
  /** `settled`: a date that a jump of the clock does not change at once. */
  clock: { now(): number; monotonic(): number; confirmedTime(): number }
  /** The hash of the newest entry of the audit log, so that it is known elsewhere as well. */
  auditHead?(): string
  tried?(outcome: Result['outcome']): void
  /** From 0 to 1. */
  chance?(): number
}

const timeoutMs = 10_000
/** Answers are not used, but a small one read to its end is not cut off. */
const maxBytes = 16 * 1024
const retryBounds = { least: 0, most: 6 * 3_600_000 }

/** Never throws: whatever goes wrong is the result. */
export async function attempt(
  deps: TryDeps,
  job: Job,
  target: Target,
): Promise<[result: Result, isGone: boolean]> {
  const { clock, chance = Math.random } = deps
  const answered = await send(deps, job, target)
  const result = judge(job, answered, clock, chance())
  deps.tried?.(result.outcome)
  return [result, answered.statusCode === 410]
}

interface Answered {
  /** A 2xx within ten seconds. */
  isTaken: boolean
  statusCode: number | null
  error: string | null
  retryAfterMs?: number | undefined
}

async function send(deps: TryDeps, job: Job, { url, secrets }: Target): Promise<Answered> {
  const { type, at, messageId: id } = job
  const body = `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(at)},"data":${job.data}}`
  const now = deps.clock.now()
  const good = secrets.filter(({ until }) => until === null || Date.parse(until) > now)
  const signing = good.map(({ bytes }) => bytes)
  const auditHead = deps.auditHead?.()
  const headers = {
    ...signedHeaders({ id, body }, signing, Math.floor(now / 1000)),
    ...(auditHead === undefined ? {} : { 'tapchip-audit-head': auditHead }),
  }
  try {
    const request = { url, method: 'POST', headers, body, timeoutMs, maxBytes, cutsBody: true }
    const answer = await deps.send(request)
    const { status: statusCode } = answer
    if (statusCode >= 200 && statusCode < 300) return { isTaken: true, statusCode, error: null }
    const isRedirect = statusCode >= 300 && statusCode < 400
    const error = `the receiver answered ${statusCode}${isRedirect ? ': redirects are not followed' : ''}`
    const wanted = retryAfterMs(answer.headers['retry-after'], now, retryBounds)
    return { isTaken: false, statusCode, error, retryAfterMs: wanted }
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown error'
    return { isTaken: false, statusCode: null, error: plainText(why) }
  }
}

function judge(
  { id, type, attempts, since }: Job,
  { isTaken, statusCode, error, retryAfterMs: wanted = 0 }: Answered,
  clock: TryDeps['clock'],
  chance: number,
): Result {
  if (isTaken) return { id, outcome: 'delivered', dueAt: null, statusCode, error }
  const delay = Math.max(retryDelayMs(attempts + 1, chance), wanted)
  const isLast = type === testType || clock.confirmedTime() + delay - Date.parse(since) > givenUpAfterMs
  return isLast
    ? { id, outcome: 'failed', dueAt: null, statusCode, error }
    : { id, outcome: 'again', dueAt: clock.now() + delay, statusCode, error }
}
