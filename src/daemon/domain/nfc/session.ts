import { nanoid } from 'nanoid'
import { hasSucceeded } from '../../../nfc/ntag424/errors.ts'
import type { Burst, Script } from '../../../nfc/script.ts'
import type { Actor } from '../../store/audit.ts'
import type { ChipInput } from '../chips/chip-input.ts'
import { DomainError } from '../errors.ts'

/** A chip, or a team's label for a chip; only one session can hold it at a time. */
export type SessionLock = { readonly uid: string } | { readonly label: string; readonly teamId: number }

interface NfcSessionStart {
  /** The admin token that opened the session; no other may continue it. */
  readonly token: string
  readonly actor: Actor
  readonly now: number
  /** @throws DomainError conflict if another session holds it */
  readonly lock: (session: NfcSession, held: SessionLock) => void
}

/** One card on one reader, and the state of the conversation with it. */
export class NfcSession {
  readonly id = nanoid()
  readonly token: string
  readonly actor: Actor
  readonly openedAt: number
  usedAt: number
  /** The number of the last request to the card. */
  step = 0
  /** True while a reply is processed. */
  busy = false
  conversation: Conversation | undefined
  expects: 'answers' | 'details' = 'answers'
  uid: string | null = null
  keySet: number | null = null
  url: string | null = null
  /** The journal entry being executed. */
  planId: number | undefined
  readonly #lock: NfcSessionStart['lock']

  constructor({ token, actor, now, lock }: NfcSessionStart) {
    this.token = token
    this.actor = actor
    this.openedAt = now
    this.usedAt = now
    this.#lock = lock
  }

  /** Held until the session ends. @throws DomainError conflict */
  lock(held: SessionLock): void {
    this.#lock(this, held)
  }
}

/** A chip's registry data besides its keys. */
export type ChipDetails = Pick<ChipInput, 'label' | 'item' | 'variant' | 'redirectUrl'>

/** A card may be lifted safely before `set-up` and during `read-back`. */
type Phase = 'inspect' | 'set-up' | 'read-back'

/** The state of the chip on the reader before anything is done to it. */
interface SeenChip {
  readonly uid: string
  /** It has the factory's keys. */
  readonly isBlank: boolean
  readonly hasOpenPlan: boolean
  /** Null if it is not registered, or in another team. */
  readonly registered: { readonly label: string | null; readonly keySet: number | null } | null
}

export type Step =
  | { readonly type: 'apdus'; readonly apdus: Burst; readonly phase: Phase }
  /** Waits for instructions about this chip. */
  | { readonly type: 'inspected'; readonly chip: SeenChip }

export type Reply =
  /** May be shorter than the burst, but not longer. */
  | { readonly type: 'answers'; readonly answers: readonly Uint8Array[] }
  | { readonly type: 'details'; readonly details: ChipDetails; readonly rekey: boolean | undefined }

/** The result of a successful session. */
export type SessionResult =
  | {
      readonly status: 'provisioned' | 'unchanged'
      readonly uid: string
      readonly keySet: number
      readonly url: string
      /** Names differences from the request. */
      readonly warning?: string
    }
  | { readonly status: 'factory'; readonly uid: string }

/** A caller's request about the chip on a reader. */
export interface ChipRequest {
  readonly atr: Uint8Array | undefined
  /** The caller may vouch that a blank chip is the one registered with keys. */
  readonly mayVouch: boolean
  /** The caller may give power over chips' assets. */
  readonly mayBind: boolean
}

/** Yields steps for the card's side and receives its replies. */
export type Conversation = AsyncGenerator<Step, SessionResult, Reply>

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
export async function* relay<R>(script: Script<R>, phase: Phase): AsyncGenerator<Step, R, Reply> {
  let next = script.next()
  while (!next.done) {
    const apdus = next.value
    const reply = yield { type: 'apdus', apdus, phase }
    if (reply.type !== 'answers') throw new DomainError('invalid_input', 'answers are missing')
    assertComplete(apdus, reply.answers)
    next = script.next(reply.answers)
  }
  return next.value
}
