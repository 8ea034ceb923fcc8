import {
  type ChipState,
  findChip,
  noteSeal,
  type TappedChip,
  takeCatchUp,
  takeCounter,
} from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import type { TapRow } from '../../store/schema.ts'
import { insertTap, type NewTap } from '../../store/taps.ts'
import type { KeyRing } from '../chips/key-ring.ts'
import { type Clock, iso } from '../time.ts'
import type { WebhookEvents } from '../webhook-events.ts'
import type { TapLog } from './tap-log.ts'
import { type TapQuery, type VerifiedTap, verifyTap } from './verify-tap.ts'

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
export interface TapOfChip {
  chip: TappedChip
  tapId: number
  counter: number
  now: number
}

/** Runs in the write that takes the tap, so its effects exist exactly if the tap is taken. */
type Followed<T> = (trx: Queries, tap: TapOfChip) => Promise<T>

/**
 * One conditional update, committed before this resolves: of concurrent callers with the same tap, exactly one gets
 * `taken`, even across a crash.
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
    counter <= chip.lastCounter ? undefined : await take(deps, { chip, counter, seal, now, via }, followed)
  if (judged) return judged
  refuse({ outcome: 'replayed', chipUid, teamId, keySetId, counter })
  return { kind: 'replayed', chip, counter }
}

type Genuine = Extract<VerifiedTap, { kind: 'genuine' }>

async function take<T>(
  deps: TakeTapDeps,
  {
    chip: seen,
    counter,
    seal,
    now,
    via,
  }: Pick<Genuine, 'chip' | 'counter' | 'seal'> & {
    now: number
    via: 'find' | 'page'
  },
  followed: Followed<T>,
): Promise<JudgedTap<T> | undefined> {
  const taken = await deps.db.write(async (trx) => {
    const step = { uid: seen.uid, counter, at: iso(now) }
    const caughtUp = seen.catchesUp === 1 ? await takeCatchUp(trx, step) : undefined
    const state = caughtUp ?? (await takeCounter(trx, step))
    if (!state) return undefined
    // The chip may have changed since it was read; only the state within this write counts.
    const chip = isAsSeen(state, seen) ? seen : ((await findChip(trx, seen.uid)) ?? seen)
    const fresh = caughtUp ? 'caught-up' : 'valid'
    const outcome = chip.disabledAt === null ? fresh : 'disabled'
    const tap = tapOf(chip, { counter, at: iso(now), via, outcome, tamper: seal })
    const tapId = await insertTap(trx, tap)
    await deps.webhookEvents.recordTap(trx, tap)
    if (seal && seal !== seen.tamper && (await noteSeal(trx, { uid: seen.uid, tamper: seal, at: iso(now) })))
      await deps.webhookEvents.recordSeal(trx, tap)
    // Taps of a disabled chip are used up too, so that a thief's collection is worthless once it is enabled again.
    const judged: JudgedTap<T> =
      outcome !== 'valid'
        ? { kind: outcome, chip, counter }
        : { kind: 'taken', chip, counter, result: await followed(trx, { chip, tapId, counter, now }) }
    return { judged, tap: { ...tap, id: tapId } }
  })
  if (taken) deps.tapLog.publish(taken.tap)
  return taken?.judged
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
