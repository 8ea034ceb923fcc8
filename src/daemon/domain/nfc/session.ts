import { nanoid } from 'nanoid'
import type { Script } from '../../../nfc/script.ts'
import type { Actor } from '../../store/audit.ts'
import type { ChipInput } from '../chips/chip-input.ts'
import { DomainError } from '../errors.ts'

/** What one session alone can have at a time: a chip, or a label of a team that a chip is to get. */
export type SessionLock = { readonly uid: string } | { readonly label: string; readonly teamId: number }

interface NfcSessionStart {
  /** The name of the admin token that opens it, and that alone may go on with it. */
  readonly token: string
  readonly actor: Actor
  readonly now: number
  /** Makes this session the only one that has something. @throws DomainError conflict */
  readonly lock: (session: NfcSession, held: SessionLock) => void
}

/** One card on one reader, and how far the talk with it is. */
export class NfcSession {
  readonly id = nanoid()
  readonly token: string
  readonly actor: Actor
  readonly openedAt: number
  usedAt: number
  /** The number of what was asked for last. */
  step = 0
  /** Whether a reply is being worked on. */
  busy = false
  conversation: Conversation | undefined
  expects: 'answer' | 'details' = 'answer'
  uid: string | null = null
  keySet: number | null = null
  url: string | null = null
  /** The journal entry that is being carried out. */
  planId: number | undefined
  readonly #lock: NfcSessionStart['lock']

  constructor({ token, actor, now, lock }: NfcSessionStart) {
    this.token = token
    this.actor = actor
    this.openedAt = now
    this.usedAt = now
    this.#lock = lock
  }

  /** Until it ends. @throws DomainError conflict */
  lock(held: SessionLock): void {
    this.#lock(this, held)
  }
}

/** What a chip gets in the registry beside its keys. */
export type ChipDetails = Pick<ChipInput, 'label' | 'item' | 'variant' | 'redirectUrl'>

/** How far a session is. Before `set-up` and in `read-back` a card may be lifted without harm. */
type Phase = 'inspect' | 'set-up' | 'read-back'

/** What is known of the chip on the reader, before anything is done to it. */
interface SeenChip {
  readonly uid: string
  /** With the factory's keys. */
  readonly isBlank: boolean
  readonly hasOpenPlan: boolean
  /** As it is registered; null where it is not, or in another team. */
  readonly registered: { readonly label: string | null; readonly keySet: number | null } | null
}

export type Step =
  | { readonly type: 'apdu'; readonly apdu: Uint8Array; readonly phase: Phase }
  /** Wants to be told what to do with this chip. */
  | { readonly type: 'inspected'; readonly chip: SeenChip }

export type Reply =
  | { readonly type: 'answer'; readonly answer: Uint8Array }
  | { readonly type: 'details'; readonly details: ChipDetails; readonly rekey: boolean | undefined }

/** How a chip's session ended well. */
export type SessionResult =
  | {
      readonly status: 'provisioned' | 'unchanged'
      readonly uid: string
      readonly keySet: number
      readonly url: string
      /** What is not as it was asked for. */
      readonly warning?: string
    }
  | { readonly status: 'factory'; readonly uid: string }

/** A session's side of the talk: steps go out to whoever has the card, replies come back. */
export type Conversation = AsyncGenerator<Step, SessionResult, Reply>

/** Has a script carried out by whoever has the card. */
export async function* relay<R>(script: Script<R>, phase: Phase): AsyncGenerator<Step, R, Reply> {
  let next = script.next()
  while (!next.done) {
    const reply = yield { type: 'apdu', apdu: next.value, phase }
    if (reply.type !== 'answer') throw new DomainError('invalid_input', 'answer is missing')
    next = script.next(reply.answer)
  }
  return next.value
}
