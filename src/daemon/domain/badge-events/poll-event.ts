import { setImmediate } from 'node:timers/promises'
import type { ApprovalResult, BadgeCode } from '../../badges/provider.ts'
import { recordChange } from '../../store/audit/audit.ts'
import {
  codeContext,
  codesOfEvent,
  freeCodesCount,
  insertCodes,
} from '../../store/badge-events/badge-claims.ts'
import { countCodesIn, findBadgeEvent, setApproval } from '../../store/badge-events/badge-events.ts'
import { type PoapEvent, secretCodeContext, setPoll } from '../../store/badge-events/badge-upstream.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import type { BadgeEventRow } from '../../store/schema/schema.ts'
import { type Clock, iso } from '../time/time.ts'
import type { Providers } from './providers.ts'

export interface PollDeps {
  db: Db
  box: SecretBox
  clock: Clock
  providers: Providers
  pollSeconds: number
  /** From 0 to 1, exclusive. */
  random(): number
  /** For the log; the error contains no codes. */
  failed(error: unknown): void
  onDecided(event: { badgeEventId: number; approval: string }): void
}

const hourMs = 3_600_000
/** POAP is asked for missing codes for a week. */
const moreCodesMs = 7 * 24 * hourMs

/** Asks POAP about an event's approval and schedules the next poll. */
export async function pollEvent(deps: PollDeps, event: PoapEvent): Promise<void> {
  const { box, providers, clock } = deps
  if (!providers.poap) return pollLater(deps, event, 60)
  const secretCode = box.open(event.secretCode, secretCodeContext(event.id)).toString()
  const { upstreamId, requestedCodes } = event
  const createdAt = Date.parse(event.createdAt)
  const result = await providers.poap.approval({ upstreamId, secretCode, requestedCodes, createdAt })
  if (result.kind === 'approved') {
    const pollUntil = event.pollUntil ?? iso(clock.now() + moreCodesMs)
    const isWhole = result.codes.length >= requestedCodes
    const poll = {
      pollUntil,
      polls: event.polls + 1,
      pollAt: isWhole ? null : forMoreCodes(deps, pollUntil),
    }
    if (await storeCodes(deps, event, result.codes, poll))
      deps.onDecided({ badgeEventId: event.id, approval: 'approved' })
    return
  }
  await undecided(deps, event, result)
}

async function undecided(
  deps: PollDeps,
  event: PoapEvent,
  result: Exclude<ApprovalResult, { kind: 'approved' }>,
): Promise<void> {
  if (result.kind === 'unavailable' || result.kind === 'refused') {
    const reason = result.kind === 'refused' ? result.message : result.reason
    deps.failed(new Error(`Polling POAP about badge event ${event.id} failed: ${reason}`))
    return event.approval === 'approved' ? pollForMore(deps, event) : pollLater(deps, event, 2)
  }
  // The event keeps its codes, whatever happens to a request for more.
  if (event.approval === 'approved') return pollForMore(deps, event)
  const approval = result.kind
  if (await deps.db.write((trx) => setApproval(trx, event.id, { approval })))
    deps.onDecided({ badgeEventId: event.id, approval })
  // A rejection is only inferred and may be reversed, so polling continues at a low rate.
  return pollLater(deps, event, approval === 'rejected' ? 60 : 1 + Math.min(event.polls / 60, 4))
}

async function pollLater(deps: PollDeps, { id, polls }: PoapEvent, times: number): Promise<void> {
  const pollAt = pollAfter(deps, times)
  await deps.db.write((trx) => setPoll(trx, id, { pollAt, polls: polls + 1 }))
}

async function pollForMore(deps: PollDeps, { id, pollUntil, polls }: PoapEvent): Promise<void> {
  const pollAt = forMoreCodes(deps, pollUntil ?? '')
  await deps.db.write((trx) => setPoll(trx, id, { pollAt, polls: polls + 1 }))
}

/** Polls hourly, or at the usual interval if that is longer, while POAP may still provide missing codes. */
function forMoreCodes(deps: PollDeps, until: string): string | null {
  const { clock, pollSeconds } = deps
  if (iso(clock.now()) >= until) return null
  return pollAfter(deps, Math.max(1, hourMs / (pollSeconds * 1000)))
}

/** A multiple of the usual interval, varied by 20% so that events do not poll together. */
export function pollAfter({ clock, pollSeconds, random }: PollDeps, times: number): string {
  return iso(Math.round(clock.now() + pollSeconds * 1000 * times * (0.8 + 0.4 * random())))
}

/** Codes per step; taps are served between steps. */
const aStep = 1_000

type Deps = { db: Db; box: SecretBox; clock: Clock }

/**
 * Codes are only appended, so an interrupted call can be repeated. The event is approved once all are stored.
 * @returns true if it was not approved before
 */
async function storeCodes(
  deps: Deps,
  event: BadgeEventRow,
  codes: readonly BadgeCode[],
  poll: Parameters<typeof setPoll>[2],
): Promise<boolean> {
  const { db, box, clock } = deps
  const { known, last } = await knownCodes(deps, event.id)
  const unclaimed = [...new Set(codes.filter(({ claimed }) => !claimed).map(({ code }) => code))].filter(
    (code) => !known.has(code),
  )
  for (let from = 0; from < unclaimed.length; from += aStep) {
    const sealed = unclaimed.slice(from, from + aStep).map((code, index) => {
      const number = last + from + index + 1
      return { number, code: box.seal(Buffer.from(code), codeContext(event.id, number)) }
    })
    await db.write(async (trx) => {
      await insertCodes(trx, event.id, sealed)
      // Codes stored before the approval are counted with it.
      const { approval } = (await findBadgeEvent(trx, event.id)) ?? event
      if (approval === 'approved') await countCodesIn(trx, event.id, sealed.length)
    })
  }
  return db.write(async (trx) => {
    await setPoll(trx, event.id, poll)
    if ((await findBadgeEvent(trx, event.id))?.approval === 'approved') return false
    const remainingCodes = await freeCodesCount(trx, event.id)
    await setApproval(trx, event.id, { approval: 'approved', remainingCodes })
    await recordChange(trx, {
      at: iso(clock.now()),
      actor: { name: 'daemon', requestId: null },
      teamId: event.teamId,
      action: 'badge-events.approve',
      target: String(event.id),
      detail: { codes: remainingCodes },
    })
    return true
  })
}

async function knownCodes({ db, box }: Deps, badgeEventId: number) {
  const rows = await codesOfEvent(db.read, badgeEventId)
  const known = new Set<string>()
  for (const [index, { number, code }] of rows.entries()) {
    if (index > 0 && index % aStep === 0) await setImmediate()
    known.add(box.open(code, codeContext(badgeEventId, number)).toString())
  }
  return { known, last: rows.at(-1)?.number ?? 0 }
}
