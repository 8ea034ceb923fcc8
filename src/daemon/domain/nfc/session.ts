import { nanoid } from 'nanoid'
import type { Actor } from '../../store/audit.ts'
import type { Conversation } from './conversation.ts'

/** What one session alone can have at a time: a chip, or a label of a team that a chip is to get. */
export type Held = { readonly uid: string } | { readonly label: string; readonly teamId: number }

export interface SessionStart {
  /** The name of the admin token that opens it, and that alone may go on with it. */
  readonly token: string
  readonly actor: Actor
  readonly now: number
  /** Makes this session the only one that has something. @throws DomainError conflict */
  readonly hold: (session: Session, held: Held) => void
}

/** One card on one reader, and how far the talk with it is. */
export class Session {
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
  readonly #hold: SessionStart['hold']

  constructor({ token, actor, now, hold }: SessionStart) {
    this.token = token
    this.actor = actor
    this.openedAt = now
    this.usedAt = now
    this.#hold = hold
  }

  saw(uid: string): void {
    this.uid = uid
  }

  /** Until it ends. @throws DomainError conflict */
  hold(held: Held): void {
    this.#hold(this, held)
  }

  plans({ keySet, url }: { keySet: number; url: string }): void {
    this.keySet = keySet
    this.url = url
  }

  began(planId: number): void {
    this.planId = planId
  }
}
