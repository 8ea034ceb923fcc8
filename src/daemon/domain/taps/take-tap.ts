import type { CarriedChip } from '../../store/carried-chips.ts'
import {
  type ChipState,
  findChip,
  lastTapOf,
  noteSeal,
  type TappedChip,
  takeCatchUp,
  takeCounter,
} from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import { isOutcomeUnknown } from '../../store/disk.ts'
import type { TapRow } from '../../store/schema.ts'
import { insertTapRows } from '../../store/tap-rows.ts'
import type { TapRows } from '../../store/tap-to-take.ts'
import { insertTap, type NewTap } from '../../store/taps.ts'
import type { KeyRing } from '../chips/key-ring.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import type { WebhookEvents } from '../webhook-events.ts'
import type { TapLog } from './tap-log.ts'
import { type Seal, type TapQuery, type VerifiedTap, verifyTap } from './verify-tap.ts'

/** Only `taken` authorizes anything, and only for the one caller that receives it. */
export type JudgedTap<T> =
  | Extract<VerifiedTap, { kind: 'malformed' | 'unknown' | 'forged' }>
  | { kind: 'replayed'; chip: TappedChip; counter: number }
  /** The first tap after a restore: someone may have seen it before, so it only raises the counter. */
  | { kind: 'caught-up'; chip: TappedChip; counter: number }
  | { kind: 'disabled'; chip: TappedChip; counter: number }
  | { kind: 'taken'; chip: TappedChip; counter: number; result: T }

export interface TakeTapDeps {
  db: Db
  keyRing: KeyRing
  tapLog: TapLog
  clock: Clock
  webhookEvents: WebhookEvents
}

/** A tap that is being taken; `now` in milliseconds. */
export interface FreshTap {
  chip: CarriedChip
  counter: number
  now: number
}

/** What a tap leaves besides itself, and what its caller gets, once the tap has its ID. */
export interface Following<T> {
  rows: TapRows
  result: (tapId: number) => T
  /** Where each query is a round trip: reads of the caller that need not wait for the tap. */
  meanwhile?: (() => void) | undefined
}

/** Only reads, and only by `db`; its rows exist exactly if the tap is taken. */
type Followed<T> = (db: Queries, tap: FreshTap) => Promise<Following<T>>

/**
 * One conditional update, committed before this resolves: of concurrent callers with the same tap, exactly one gets
 * `taken`, even across a crash.
 * @throws DomainError outcome_unknown if the answer of the database was lost
 */
export async function takeTap<T>(
  deps: TakeTapDeps,
  query: TapQuery,
  via: 'find' | 'page',
  followed: Followed<T>,
): Promise<JudgedTap<T>> {
  const read = await verifyTap(deps, query)
  if (read.kind === 'malformed') return read
  const now = deps.clock.now()
  const refuse = (tap: Partial<NewTap> & Pick<NewTap, 'outcome'>) =>
    deps.tapLog.refuse({
      at: iso(now),
      chipUid: null,
      teamId: null,
      keySetId: null,
      counter: null,
      via,
      ...tap,
    })

  if (read.kind === 'unknown') {
    refuse({ outcome: read.reason, keySetId: read.keySetId })
    return read
  }
  const { uid: chipUid, teamId, keySetId } = read.chip
  if (read.kind === 'forged') {
    refuse({ outcome: 'wrong-mac', chipUid, teamId, keySetId: read.keySetId })
    return read
  }
  const { chip, counter, seal } = read
  const judged =
    counter <= chip.lastCounter
      ? undefined
      : await take(deps, { chip, counter, seal, now, via }, followed).catch(tapAgain)
  if (judged) return judged
  refuse({ outcome: 'replayed', chipUid, teamId, keySetId, counter })
  return { kind: 'replayed', chip, counter }
}

function tapAgain(cause: unknown): never {
  if (!isOutcomeUnknown(cause)) throw cause
  throw new DomainError(
    'outcome_unknown',
    'The connection to the database was lost before it answered, so this tap may have been used up. Tap the chip again: the next tap is a new one.',
    { retryAfterSeconds: 5, cause },
  )
}

interface Taking {
  chip: CarriedChip
  counter: number
  seal: Seal
  now: number
  via: 'find' | 'page'
}

async function take<T>(
  deps: TakeTapDeps,
  taking: Taking,
  followed: Followed<T>,
): Promise<JudgedTap<T> | undefined> {
  const atOnce = await takeAtOnce(deps, taking, followed)
  // Of those that meet, all but one have lost, which a look tells for less than a write.
  if (atOnce === 'not taken' && (await isUsedUp(deps, taking))) return undefined
  let refused: ((trx: Queries) => Promise<void>) | undefined
  const tellRefused: TellRefused = (trx, tap) => {
    // Once, although the write may be run again.
    refused ??= deps.webhookEvents.refusedTaps([tap])
    return refused(trx)
  }
  const taken =
    (atOnce === 'not taken' ? undefined : atOnce) ??
    (await deps.db.write((trx) => takeIn(trx, { ...deps, tellRefused }, taking, followed)))
  if (taken) deps.tapLog.publish(taken.tap)
  return taken?.judged
}

/** Part of the write. */
type TellRefused = (trx: Queries, tap: NewTap) => Promise<void>

interface Taken<T> {
  judged: JudgedTap<T>
  tap: TapRow
}

/**
 * In one step of the store, which waits for nothing in between.
 * @returns undefined if the tap is none of the usual ones; `not taken` if the chip has changed since it was read, its
 * counter for example: nothing is written
 */
async function takeAtOnce<T>(
  { db, webhookEvents }: TakeTapDeps,
  { chip, counter, seal, now, via }: Taking,
  followed: Followed<T>,
): Promise<Taken<T> | 'not taken' | undefined> {
  const { carried, hasBadgeEvents, hasGuestbookEvents } = chip
  const isSealNews = seal !== null && seal !== chip.tamper
  // Codes for events have to be made of what is assigned at the moment of the tap.
  const isKnown = carried || !(hasBadgeEvents || hasGuestbookEvents)
  if (!db.takeTap || !isKnown || chip.catchesUp === 1 || chip.disabledAt !== null || isSealNews)
    return undefined
  const { rows, result, meanwhile } = await followed(db.read, { chip, counter, now })
  const tap = tapOf(chip, { counter, at: iso(now), via, outcome: 'valid', tamper: seal })
  const message = webhookEvents.ofTap(tap)
  if (carried) meanwhile?.()
  const id = await db.takeTap({ seen: chip, tap, rows, message, events: eventsOf(chip, rows) })
  if (id === undefined) return 'not taken'
  if (message) webhookEvents.recorded(chip.teamId)
  return { judged: { kind: 'taken', chip, counter, result: result(id) }, tap: { ...tap, id } }
}

async function isUsedUp({ db }: TakeTapDeps, { chip, counter }: Taking): Promise<boolean> {
  const last = await lastTapOf(db.read, { uid: chip.uid })
  return last !== undefined && last.lastCounter >= counter
}

/** Codes are made of what a chip carries; refs are not. */
function eventsOf({ carried }: CarriedChip, rows: TapRows) {
  if (!carried || rows.otps === undefined) return undefined
  const ascending = (events: readonly { id: number }[]) => events.map(({ id }) => id).sort((a, b) => a - b)
  const events = {
    badges: ascending(carried.badgeEvents),
    guestbooks: ascending(carried.guestbookEvents),
  }
  return events.badges.length + events.guestbooks.length > 0 ? events : undefined
}

/** Any tap, by the state of its chip within a write. */
async function takeIn<T>(
  trx: Queries,
  { webhookEvents, tellRefused }: TakeTapDeps & { tellRefused: TellRefused },
  { chip: before, counter, seal, now, via }: Taking,
  followed: Followed<T>,
): Promise<Taken<T> | undefined> {
  // Read anew, because everything that came with the chip is older than this write.
  const seen: CarriedChip = before.carried ? { ...before, carried: undefined } : before
  const at = iso(now)
  const step = { uid: seen.uid, counter, at }
  const caughtUp = seen.catchesUp === 1 ? await takeCatchUp(trx, step) : undefined
  const state = caughtUp ?? (await takeCounter(trx, step))
  if (!state) return undefined
  // The chip may have changed since it was read; only the state within this write counts.
  const chip: CarriedChip = isAsSeen(state, seen) ? seen : ((await findChip(trx, seen.uid)) ?? seen)
  const fresh = caughtUp ? 'caught-up' : 'valid'
  const outcome = chip.disabledAt === null ? fresh : 'disabled'
  const tap = tapOf(chip, { counter, at, via, outcome, tamper: seal })
  const id = await insertTap(trx, tap)
  await (outcome === 'valid' ? webhookEvents.recordTap(trx, tap) : tellRefused(trx, tap))
  if (seal && seal !== seen.tamper && (await noteSeal(trx, { uid: seen.uid, tamper: seal, at })))
    await webhookEvents.recordSeal(trx, tap)
  // Taps of a disabled chip are used up too, so that a thief's collection is worthless once it is enabled again.
  if (outcome !== 'valid') return { judged: { kind: outcome, chip, counter }, tap: { ...tap, id } }
  const { rows, result } = await followed(trx, { chip, counter, now })
  await insertTapRows(trx, { tapId: id, chipUid: chip.uid, counter, at }, rows)
  return { judged: { kind: 'taken', chip, counter, result: result(id) }, tap: { ...tap, id } }
}

const isAsSeen = (state: ChipState, seen: TappedChip): boolean =>
  state.teamId === seen.teamId &&
  state.redirectUrl === seen.redirectUrl &&
  state.itemId === seen.itemId &&
  state.tokenRow === seen.tokenRow &&
  state.disabledAt === seen.disabledAt

function tapOf(
  { uid: chipUid, teamId, keySetId }: TappedChip,
  tap: Pick<TapRow, 'counter' | 'at' | 'via' | 'outcome' | 'tamper'>,
): Omit<TapRow, 'id'> {
  return { ...tap, chipUid, teamId, keySetId }
}
