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
import { failureOf, type SessionFailure } from './session-failure.ts'
import { isSilent, SessionLocks } from './session-locks.ts'

type Deps = { db: Db; clock: Clock }

/** The caller that may continue a session. */
export interface SessionOwner {
  readonly token: string
  readonly actor: Actor
  /** The computer and user at whose reader the card lies: an ID that it made up. */
  readonly station?: string | undefined
}

type SessionEnd =
  | SessionResult
  | ({
      readonly status: 'failed'
      readonly uid: string | null
      readonly keySet: number | null
      readonly url: string | null
    } & SessionFailure)

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
/** Sessions whose clients are told, if they come back, that another one took their chip over. */
const rememberedAtMost = 64

/** The first value sent to a generator is ignored. */
const started: Reply = { type: 'answers', answers: [] }

/** Active sessions with cards, in memory only: the journal keeps what must survive them. */
export class NfcSessions {
  readonly #sessions = new Map<string, NfcSession>()
  readonly #locks = new SessionLocks()
  /** IDs, oldest first. */
  readonly #takenOver = new Set<string>()

  /** @throws DomainError rate_limited; errors of the first step that are not failures of the chip */
  async open(
    deps: Deps,
    { token, actor, station }: SessionOwner,
    talk: (session: NfcSession) => Conversation,
  ): Promise<SessionStep> {
    this.#sweep(deps)
    if (this.#sessions.size >= maxSessions) this.#dropSilent(deps)
    if (this.#sessions.size >= maxSessions) {
      throw new DomainError(
        'rate_limited',
        'Too many cards are being processed at once. Try again when one is done.',
        { retryAfterSeconds: 5 },
      )
    }
    const now = deps.clock.monotonic()
    const session = new NfcSession({ token, actor, station, now, locks: this.#locksFor(deps) })
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
    if (session.running || session.step !== step || session.expects !== reply.type) {
      throw conflict(
        `The session is at step ${session.step} and waits for ${session.expects}. Send one command at a time to each card.`,
      )
    }
    return this.#advance(deps, session, reply)
  }

  /** The card is gone, or the user stopped. Plans stay in the journal. @throws DomainError not_found */
  async close(deps: Deps, { token, id }: { token: string; id: string }): Promise<void> {
    const session = this.#find(token, id)
    // The running step is finished before another session may have the chip.
    await session.running
    if (!this.#sessions.has(id)) return
    this.#drop(session)
    await this.#noteLost(deps, session, 'The card was lifted too early, or the program was stopped')
  }

  #advance(deps: Deps, session: NfcSession, reply: Reply | undefined): Promise<SessionStep> {
    const step = this.#step(deps, session, reply)
    const done = () => undefined
    session.running = step.then(done, done)
    return step
  }

  async #step(deps: Deps, session: NfcSession, reply: Reply | undefined): Promise<SessionStep> {
    const { conversation, id } = session
    if (!conversation) throw new Error('A session without a conversation')
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
      session.running = undefined
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
    if (this.#takenOver.has(id))
      throw conflict(
        'Another session took this chip over, since this one was silent or its station began anew. Put the chip on the reader again.',
      )
    throw new DomainError(
      'not_found',
      'This session does not exist: it ended, or the daemon was restarted. Put the card on the reader again.',
    )
  }

  /** @throws DomainError conflict if a session is working on the chip */
  assertFree(deps: Deps, uid: string): void {
    this.#locks.assertFree(deps, { uid })
  }

  /** @returns the number of a sheet's rows that sessions work on */
  heldRows(deps: Deps, run: number): number {
    return this.#locks.heldRows(deps, run)
  }

  #locksFor(deps: Deps) {
    const takeOver = (session: NfcSession) => {
      this.#drop(session)
      this.#takenOver.add(session.id)
      for (const id of this.#takenOver)
        if (this.#takenOver.size > rememberedAtMost) this.#takenOver.delete(id)
      void this.#noteLost(deps, session, 'The program that was at it was not heard any more')
    }
    const lockDeps = { clock: deps.clock, takeOver }
    return {
      take: (session: NfcSession, held: SessionLock) => this.#locks.take(lockDeps, session, held),
      tryTake: (session: NfcSession, held: SessionLock, isSpare?: boolean) =>
        this.#locks.tryTake(lockDeps, session, held, isSpare),
      release: (session: NfcSession, held: SessionLock) => this.#locks.release(session, held),
    }
  }

  #sweep(deps: Deps): void {
    const now = deps.clock.monotonic()
    for (const session of [...this.#sessions.values()]) {
      if (session.running || (now - session.usedAt < idleMs && now - session.openedAt < lifeMs)) continue
      this.#drop(session)
      void this.#noteLost(deps, session, 'The program that was at it was not heard any more')
    }
  }

  /** A connection that flaps leaves a session behind at each try: the one that is silent for longest makes room. */
  #dropSilent(deps: Deps): void {
    const mayGo = (session: NfcSession) => session.planId === undefined && isSilent(deps.clock, session)
    const [silent] = [...this.#sessions.values()].filter(mayGo).sort((a, b) => a.usedAt - b.usedAt)
    if (silent) this.#drop(silent)
  }

  #drop(session: NfcSession): void {
    this.#sessions.delete(session.id)
    this.#locks.releaseAll(session)
  }

  async #noteLost(deps: Deps, { planId, uid, actor }: NfcSession, problem: string): Promise<void> {
    if (planId === undefined || uid === null) return
    await recordProblem(deps, actor, { id: planId, uid }, problem).catch(() => undefined)
  }
}
