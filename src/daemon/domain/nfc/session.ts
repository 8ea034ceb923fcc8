import { nanoid } from 'nanoid'
import { hasSucceeded } from '../../../nfc/ntag424/errors.ts'
import type { Originality } from '../../../nfc/ntag424/originality.ts'
import type { Burst, Script } from '../../../nfc/script.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import type { ChipInput } from '../chips/chip-input.ts'
import { DomainError } from '../errors/errors.ts'
import { SessionLeases, type SessionLock, type SheetPlace } from './session-leases.ts'

interface NfcSessionStart {
  /** The credential that opened the session; no other may continue it. */
  readonly token: string
  readonly actor: Actor
  /** The computer and user that relay the session, if known. */
  readonly station: string | undefined
  readonly now: number
  readonly db: Db
  /** @throws ChipBusy */
  readonly lock: (session: NfcSession, held: Exclude<SessionLock, SheetPlace>) => Promise<void>
}

/** One card on one reader, and the state of the conversation with it. */
export class NfcSession {
  readonly id = nanoid()
  readonly token: string
  readonly actor: Actor
  readonly station: string | undefined
  readonly openedAt: number
  usedAt: number
  /** The number of the last request to the card. */
  step = 0
  /** Resolves when the reply that is being processed is done. */
  running: Promise<void> | undefined
  conversation: CardSession | undefined
  expects: 'answers' | 'details' = 'answers'
  uid: string | null = null
  keySet: number | null = null
  url: string | null = null
  /** The journal entry being executed. */
  planId: number | undefined
  /** True once another session has acquired its chip. */
  isTakenOver = false
  readonly leases: SessionLeases
  #place: SheetPlace | undefined
  readonly #lock: NfcSessionStart['lock']

  constructor({ token, actor, station, now, db, lock }: NfcSessionStart) {
    this.token = token
    this.actor = actor
    this.station = station
    this.openedAt = now
    this.usedAt = now
    this.leases = new SessionLeases(db, this)
    this.#lock = lock
  }

  /** Held until the session ends. @throws ChipBusy */
  lock(held: Exclude<SessionLock, SheetPlace>): Promise<void> {
    return this.#lock(this, held)
  }

  /**
   * Exchanges the row that it holds for another one. @param isSpare other rows are free
   * @returns false if another session holds that
   */
  async takePlace(place: SheetPlace, isSpare = false): Promise<boolean> {
    if (!(await this.leases.acquire(place, isSpare))) return false
    if (this.#place && this.#place.row !== place.row) await this.leases.release(this.#place)
    this.#place = place
    return true
  }
}

/** A chip's registry data besides its keys. */
export type ChipDetails = Pick<ChipInput, 'label' | 'item' | 'variant' | 'redirectUrl'>

/** A card may be lifted safely before `set-up` and during `read-back`. */
export type Phase = 'inspect' | 'set-up' | 'read-back'

export interface SheetProgress {
  readonly rows: number
  readonly taken: number
}

/** The row that another chip already has because of its label. */
export interface PassedRow {
  readonly row: number
  readonly uid: string
  /** The name of the other chip's group. */
  readonly chipGroup: string
}

/** The chip on the reader before anything is done to it. */
interface SeenChip {
  readonly uid: string
  /** It has factory keys. */
  readonly isBlank: boolean
  readonly hasOpenPlan: boolean
  /** Null if it is not registered, or in another team. */
  readonly registered: { readonly label: string | null; readonly keySet: number | null } | null
  /** The sheet row that the chip has or may have; null without a sheet, or if no row is free. */
  readonly row?: number | null
  readonly sheet?: SheetProgress | null
  readonly passed?: PassedRow | undefined
}

export type Step =
  | { readonly type: 'apdus'; readonly apdus: Burst; readonly phase: Phase }
  /** Waits for instructions about this chip. */
  | { readonly type: 'inspected'; readonly chip: SeenChip }

export type Reply =
  /** May be shorter than the burst, but not longer. */
  | { readonly type: 'answers'; readonly answers: readonly Uint8Array[] }
  | {
      readonly type: 'details'
      readonly details: ChipDetails
      readonly rekey: boolean | undefined
      /** The sheet row with the details. */
      readonly row: number | undefined
    }

export interface ReadyChip {
  readonly status: 'provisioned' | 'unchanged'
  readonly uid: string
  readonly keySet: number
  readonly url: string
  /** Names differences from the request. */
  readonly warning?: string
  /** With a sheet, the chip's row. */
  readonly row?: number
  readonly sheet?: SheetProgress
}

/** The result of a successful session. */
export type SessionResult = ReadyChip | { readonly status: 'factory'; readonly uid: string }

/** A caller's request about the chip on a reader. */
export interface ChipRequest {
  readonly atr: Uint8Array | undefined
  /** The largest Lc that the reader passes on; undefined: unknown. */
  readonly maxLc: number | undefined
  readonly originality: Originality
  /** Another chip is refused. */
  readonly uid: string | undefined
  /** Sets of five keys, one of which the chip may have, from its owner. */
  readonly supplied: readonly (readonly Buffer[])[]
  /** The caller may vouch that a blank chip is the one registered with keys. */
  readonly mayVouch: boolean
  /** The caller may give power over chips' assets. */
  readonly mayBind: boolean
}

/** Yields steps for the card's side and receives its replies. */
export type CardSession = AsyncGenerator<Step, SessionResult, Reply>

/** @throws DomainError invalid_input */
function assertComplete(apdus: Burst, answers: readonly Uint8Array[]): void {
  const last = answers.at(-1)
  const isCut = last !== undefined && answers.length < apdus.length && !hasSucceeded(last)
  if (answers.length !== apdus.length && !isCut)
    throw new DomainError(
      'invalid_input',
      `answers must be ${apdus.length}, or end with the first that failed`,
    )
}

/** Runs a script on the remote card. */
export async function* runScript<R>(
  script: Script<R>,
  phase: Phase | (() => Phase),
): AsyncGenerator<Step, R, Reply> {
  let next = script.next()
  while (!next.done) {
    const apdus = next.value
    const reply = yield { type: 'apdus', apdus, phase: typeof phase === 'string' ? phase : phase() }
    if (reply.type !== 'answers') throw new DomainError('invalid_input', 'answers are missing')
    assertComplete(apdus, reply.answers)
    next = script.next(reply.answers)
  }
  return next.value
}
