import type { Script } from '../../../nfc/script.ts'
import type { ChipInput } from '../chips/chip-input.ts'
import { DomainError } from '../errors.ts'

/** What a chip gets in the registry beside its keys. */
export type ChipDetails = Pick<ChipInput, 'label' | 'item' | 'variant' | 'redirectUrl'>

/** How far a session is. Before `set-up` and in `read-back` a card may be lifted without harm. */
export type Phase = 'inspect' | 'set-up' | 'read-back'

/** What is known of the chip on the reader, before anything is done to it. */
export interface SeenChip {
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
export type Outcome =
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
export type Conversation = AsyncGenerator<Step, Outcome, Reply>

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
