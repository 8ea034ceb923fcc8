import { UnknownCard } from '../../../nfc/identify.ts'
import { NdefFormatError } from '../../../nfc/ndef.ts'
import { ChipError } from '../../../nfc/ntag424/errors.ts'
import { ProvisionError } from '../../../nfc/provision/errors.ts'
import type { Actor } from '../../store/audit.ts'
import type { Db } from '../../store/database.ts'
import { conflict, DomainError } from '../errors.ts'
import type { Clock } from '../time.ts'
import { recordProblem } from './journal.ts'
import {
  type Conversation,
  NfcSession,
  type Reply,
  type SessionLock,
  type SessionResult,
  type Step,
} from './session.ts'

type Deps = { db: Db; clock: Clock }

/** The caller that may continue a session. */
export interface SessionOwner {
  readonly token: string
  readonly actor: Actor
}

type SessionEnd =
  | SessionResult
  | ({
      readonly status: 'failed'
      readonly uid: string | null
      readonly keySet: number | null
      readonly url: string | null
    } & Failure)

/** A session's next request, or its end. */
export interface SessionStep {
  readonly id: string
  readonly step: number
  readonly next: Step | { readonly type: 'ended'; readonly outcome: SessionEnd }
}

const maxSessions = 64
/** Allows time for a person to answer a question. */
const idleMs = 120_000
const lifeMs = 900_000
/** A chip answers within a second; after this much silence it is lost, and another session may take it. */
const lostMs = 10_000

const nameOf = (held: SessionLock): string => ('uid' in held ? held.uid : `${held.teamId}/${held.label}`)

const isAlive = ({ clock }: Deps, { busy, usedAt }: NfcSession): boolean =>
  busy || clock.monotonic() - usedAt < lostMs

const lockedElsewhere = (held: SessionLock): DomainError =>
  conflict(
    'uid' in held
      ? 'Another session is working on this chip. Wait until it is done, or try again in ten seconds.'
      : `Another chip is being given the label "${held.label}" right now. Choose another label, or wait until that chip is done.`,
  )

/** The first value sent to a generator is ignored. */
const started: Reply = { type: 'answers', answers: [] }

/** Active sessions with cards, in memory only: the journal keeps what must survive them. */
export class NfcSessions {
  readonly #sessions = new Map<string, NfcSession>()
  readonly #locks = new Map<string, NfcSession>()

  /** @throws DomainError rate_limited; errors of the first step that are not failures of the chip */
  async open(
    deps: Deps,
    { token, actor }: SessionOwner,
    talk: (session: NfcSession) => Conversation,
  ): Promise<SessionStep> {
    this.#sweep(deps)
    if (this.#sessions.size >= maxSessions) {
      throw new DomainError(
        'rate_limited',
        'Too many cards are being processed at once. Try again when one is done.',
        { retryAfterSeconds: 5 },
      )
    }
    const now = deps.clock.monotonic()
    const lock = (session: NfcSession, held: SessionLock) => this.#lock(deps, session, held)
    const session = new NfcSession({ token, actor, now, lock })
    session.conversation = talk(session)
    this.#sessions.set(session.id, session)
    return this.#advance(deps, session, undefined)
  }

  /** @throws DomainError not_found, conflict if the session expects something else */
  async reply(
    deps: Deps,
    { token, id, step, reply }: { token: string; id: string; step: number; reply: Reply },
  ): Promise<SessionStep> {
    this.#sweep(deps)
    const session = this.#find(token, id)
    if (session.busy || session.step !== step || session.expects !== reply.type) {
      throw conflict(
        `The session is at step ${session.step} and waits for ${session.expects}. Send one command at a time to each card.`,
      )
    }
    return this.#advance(deps, session, reply)
  }

  /** The card is gone, or the user stopped. Plans stay in the journal. @throws DomainError not_found */
  async close(deps: Deps, { token, id }: { token: string; id: string }): Promise<void> {
    const session = this.#find(token, id)
    this.#drop(session)
    await this.#noteLost(deps, session)
  }

  async #advance(deps: Deps, session: NfcSession, reply: Reply | undefined): Promise<SessionStep> {
    const { conversation, id } = session
    if (!conversation) throw new Error('A session without a conversation')
    session.busy = true
    try {
      const result = await conversation.next(reply ?? started)
      session.step += 1
      if (result.done) return this.#ended(session, result.value)
      session.expects = result.value.type === 'apdus' ? 'answers' : 'details'
      return { id, step: session.step, next: result.value }
    } catch (error) {
      const failure = failureOf(error)
      this.#drop(session)
      const { uid, keySet, url, planId, actor } = session
      if (planId !== undefined && uid !== null)
        await recordProblem(deps, actor, { id: planId, uid }, failure?.error ?? 'An internal error occurred')
      if (!failure) throw error
      session.step += 1
      return this.#ended(session, { status: 'failed', uid, keySet, url, ...failure })
    } finally {
      session.busy = false
      session.usedAt = deps.clock.monotonic()
    }
  }

  #ended(session: NfcSession, outcome: SessionEnd): SessionStep {
    this.#drop(session)
    return { id: session.id, step: session.step, next: { type: 'ended', outcome } }
  }

  #find(token: string, id: string): NfcSession {
    const session = this.#sessions.get(id)
    if (session && session.token === token) return session
    throw new DomainError(
      'not_found',
      'This session does not exist: it ended, or the daemon was restarted. Put the card on the reader again.',
    )
  }

  /** @throws DomainError conflict if a session is working on the chip */
  assertFree(deps: Deps, uid: string): void {
    const holder = this.#locks.get(nameOf({ uid }))
    if (holder && isAlive(deps, holder)) throw lockedElsewhere({ uid })
  }

  #lock(deps: Deps, session: NfcSession, held: SessionLock): void {
    const name = nameOf(held)
    const holder = this.#locks.get(name)
    if (holder && holder !== session) {
      if (isAlive(deps, holder)) throw lockedElsewhere(held)
      this.#drop(holder)
      void this.#noteLost(deps, holder)
    }
    this.#locks.set(name, session)
  }

  #sweep(deps: Deps): void {
    const now = deps.clock.monotonic()
    for (const session of [...this.#sessions.values()]) {
      if (session.busy || (now - session.usedAt < idleMs && now - session.openedAt < lifeMs)) continue
      this.#drop(session)
      void this.#noteLost(deps, session)
    }
  }

  #drop(session: NfcSession): void {
    this.#sessions.delete(session.id)
    for (const [name, holder] of this.#locks) if (holder === session) this.#locks.delete(name)
  }

  async #noteLost(deps: Deps, { planId, uid, actor }: NfcSession): Promise<void> {
    if (planId === undefined || uid === null) return
    await recordProblem(deps, actor, { id: planId, uid }, 'The card was lifted too early').catch(
      () => undefined,
    )
  }
}

export interface Failure {
  /** For programs: the error's class or code. */
  readonly code: string
  /** A sentence for people, with the next step. */
  readonly error: string
}

const retryAdvice =
  'Put the chip on the reader again, flat and still. If its setup had started: tapchip nfc recover'

/** A chip failure as text; undefined for internal errors. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof DomainError) return { code: error.code, error: error.message }
  if (error instanceof ProvisionError || error instanceof UnknownCard)
    return { code: error.name, error: `${error.message}. ${error.advice}` }
  if (error instanceof ChipError || error instanceof NdefFormatError)
    return { code: error.name, error: `${error.message}. ${retryAdvice}` }
  // The URL is too long, or generations have run out.
  if (error instanceof RangeError) return { code: error.name, error: error.message }
  return undefined
}
