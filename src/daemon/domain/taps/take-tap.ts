import type { TapSource } from '../../../values/tap-outcomes.ts'
import type { TappedChip } from '../../store/chips/chips.ts'
import { isOutcomeUnknown } from '../../store/data-dir/disk.ts'
import type { Db } from '../../store/database/database.ts'
import type { TapRow } from '../../store/schema/schema.ts'
import type { TapInsert } from '../../store/taps/tap-insert.ts'
import type { NewTap } from '../../store/taps/taps.ts'
import type { KeyRing } from '../chips/key-ring.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import type { WebhookEvents } from '../webhooks/events.ts'
import type { TapLog } from './tap-log.ts'
import { type TapQuery, type VerifiedTap, verifyTap } from './verify-tap.ts'

/** Only `taken` authorizes anything, and only for the one caller that receives it. */
export type JudgedTap<T> =
  | Extract<VerifiedTap, { kind: 'malformed' | 'unknown' | 'forged' }>
  | { kind: 'replayed'; chip: TappedChip; counter: number }
  /** The first tap after a restore: someone may have seen it before, so it only raises the counter. */
  | { kind: 'caught-up'; chip: TappedChip; counter: number }
  | { kind: 'disabled'; chip: TappedChip; counter: number }
  | { kind: 'taken'; chip: TappedChip; tap: TakenTap; result: T }

/** The recorded tap. */
export type TakenTap = TapInsert['tap'] & Pick<TapRow, 'id' | 'queried'>

export interface TakeTapDeps {
  db: Db
  keyRing: KeyRing
  tapLog: TapLog
  clock: Clock
  webhookEvents: WebhookEvents
}

/** Data stored with a valid tap, in the same transaction. */
export interface TapEffects<T> {
  refsUntil?: string
  pageUntil?: string
  links?: string
  codes?: string
  /** See TapInsert. */
  events?: string
  /** Returned to the caller. */
  result: T
}

/** Only reads. @param now in milliseconds */
type PrepareEffects<T> = (chip: TappedChip, now: number) => Promise<TapEffects<T>>

/** A chip that changes this often between read and write is being changed endlessly. */
const maxAttempts = 20

/**
 * Uses a tap up, and records it in the same write: of concurrent callers with the same tap, exactly one gets `taken`,
 * even across a crash. The write checks everything that the verdict depended on; if any of it has changed, the tap is
 * judged again.
 * @throws DomainError outcome_unknown if the answer of the database was lost
 */
export async function takeTap<T>(
  deps: TakeTapDeps,
  query: TapQuery,
  via: TapSource,
  prepare: PrepareEffects<T>,
): Promise<JudgedTap<T>> {
  const now = deps.clock.now()
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const verified = await verifyTap(deps, query)
    if (verified.kind !== 'genuine') return recordRefusal(deps, verified, { now, via })
    const { chip, counter } = verified
    if (counter <= chip.lastCounter) {
      const { uid: chipUid, teamId, keySetId } = chip
      deps.tapLog.refuse({ at: iso(now), chipUid, teamId, keySetId, counter, via, outcome: 'replayed' })
      return { kind: 'replayed', chip, counter }
    }
    const judged = await take(deps, verified, { now, via, prepare }).catch(throwOutcomeUnknown)
    if (judged) return judged
  }
  throw new DomainError(
    'store_unavailable',
    'The chip is being changed again and again at the moment. Nothing was used up: open the URL again.',
    { retryAfterSeconds: 1 },
  )
}

interface TakeOptions<T> {
  now: number
  via: TapSource
  prepare: PrepareEffects<T>
}

type GenuineTap = Extract<VerifiedTap, { kind: 'genuine' }>

/** @returns undefined, with nothing written, if the chip has changed since it was read */
async function take<T>(
  { db, webhookEvents, tapLog }: TakeTapDeps,
  { chip, counter, tamper, haloForm = null, fileData = null }: GenuineTap,
  { now, via, prepare }: TakeOptions<T>,
): Promise<JudgedTap<T> | undefined> {
  const at = iso(now)
  const freshOutcome = chip.catchesUp === 1 ? 'caught-up' : 'valid'
  const outcome = chip.disabledAt === null ? freshOutcome : 'disabled'
  // Taps of a disabled chip are used up too, so that a thief's collection is worthless once it is enabled again.
  const effects = outcome === 'valid' ? await prepare(chip, now) : undefined
  const { uid: chipUid, teamId, keySetId } = chip
  const recorded = { at, chipUid, teamId, keySetId, counter, outcome, via, tamper, fileData } as const
  const tap: TapInsert['tap'] = {
    at,
    counter,
    outcome,
    via,
    tamper,
    fileData,
    refsUntil: effects?.refsUntil ?? null,
    pageUntil: effects?.pageUntil ?? null,
    links: effects?.links ?? null,
    codes: effects?.codes ?? null,
  }
  const messages = webhookEvents.messagesOfTap(recorded, chip)
  const id = await db.takeTap({ seen: chip, events: effects?.events ?? null, haloForm, tap, messages })
  if (id === undefined) return undefined
  if (messages.length > 0) webhookEvents.recorded()
  tapLog.publish(Object.assign(recorded, { id }))
  if (effects)
    return { kind: 'taken', chip, tap: Object.assign(tap, { id, queried: 0 }), result: effects.result }
  // Outside of the write, so webhooks may miss it. The tap is already used up, and the answer must not deny that.
  if (webhookEvents.hasSubscriber(teamId, 'tap.refused'))
    await db.write(webhookEvents.refusedTaps([recorded])).catch(() => undefined)
  return { kind: outcome === 'valid' ? 'disabled' : outcome, chip, counter }
}

function recordRefusal(
  { tapLog }: TakeTapDeps,
  read: Exclude<VerifiedTap, GenuineTap>,
  { now, via }: { now: number; via: TapSource },
): Exclude<VerifiedTap, GenuineTap> {
  if (read.kind === 'malformed') return read
  const { keySetId } = read
  const unknown: NewTap = {
    at: iso(now),
    chipUid: null,
    teamId: null,
    keySetId,
    counter: null,
    via,
    outcome: 'unknown-chip',
  }
  if (read.kind === 'unknown') tapLog.refuse({ ...unknown, outcome: read.reason })
  else {
    const { uid: chipUid, teamId } = read.chip
    tapLog.refuse({ ...unknown, chipUid, teamId, outcome: 'wrong-mac' })
  }
  return read
}

function throwOutcomeUnknown(cause: unknown): never {
  if (!isOutcomeUnknown(cause)) throw cause
  throw new DomainError(
    'outcome_unknown',
    'The connection to the database was lost before it answered, so this tap may have been used up. Tap the chip again: the next tap is a new one.',
    { retryAfterSeconds: 5, cause },
  )
}
