import type { Actor } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import type { Clock } from '../time/time.ts'
import { recordProblem } from './journal.ts'
import {
  type CardSession,
  NfcSession,
  type Reply,
  type SessionLock,
  type SessionResult,
  type Step,
} from './session.ts'
import { failureOf, type SessionFailure } from './session-failure.ts'
import {
  ChipBusy,
  isSilent,
  lostAfterMs,
  nameOf,
  rowsOf,
  SessionLocks,
  silentAfterMs,
} from './session-locks.ts'
import { SharedHolds } from './shared-holds.ts'

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
const maxRemembered = 64

const takenOver = (): DomainError =>
  conflict(
    'Another session took this chip over, since this one was silent or its station began anew. Put the chip on the reader again.',
  )

/** The first value sent to a generator is ignored. */
const started: Reply = { type: 'answers', answers: [] }

/** Active sessions with cards, in this daemon's memory only: the journal keeps what must survive them. */
export class NfcSessions {
  readonly #sessions = new Map<string, NfcSession>()
  readonly #locks = new SessionLocks()
  readonly #shared = new SharedHolds()
  /** IDs, oldest first. */
  readonly #takenOver = new Set<string>()

  /** @throws DomainError rate_limited; errors of the first step that are not failures of the chip */
  async open(
    deps: Deps,
    { token, actor, station }: SessionOwner,
    talk: (session: NfcSession) => CardSession,
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
    await this.#drop(deps, session)
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
      await this.#assertHeld(deps, session)
      const result = await conversation.next(reply ?? started)
      session.step += 1
      if (result.done) return await this.#ended(deps, session, result.value)
      session.expects = result.value.type === 'apdus' ? 'answers' : 'details'
      return { id, step: session.step, next: result.value }
    } catch (error) {
      const failure = failureOf(error)
      void this.#drop(deps, session)
      const { uid, keySet, url, planId, actor } = session
      if (planId !== undefined && uid !== null)
        await recordProblem(deps, actor, { id: planId, uid }, failure?.error ?? 'An internal error occurred')
      if (!failure) throw error
      session.step += 1
      return this.#ended(deps, session, { status: 'failed', uid, keySet, url, ...failure })
    } finally {
      await this.#shared.rest(deps.db, session).catch(() => undefined)
      session.running = undefined
      session.usedAt = deps.clock.monotonic()
    }
  }

  /** @throws DomainError conflict if another daemon's session has taken its chip, since this one was silent */
  async #assertHeld({ db }: Deps, session: NfcSession): Promise<void> {
    const lost = await this.#shared.lost(db, session)
    if (session.uid !== null && lost.includes(nameOf({ uid: session.uid }))) throw takenOver()
  }

  async #ended(deps: Deps, session: NfcSession, outcome: SessionEnd): Promise<SessionStep> {
    await this.#drop(deps, session)
    return { id: session.id, step: session.step, next: { type: 'ended', outcome } }
  }

  #find(token: string, id: string): NfcSession {
    const session = this.#sessions.get(id)
    if (session && session.token === token) return session
    if (this.#takenOver.has(id)) throw takenOver()
    throw new DomainError(
      'not_found',
      'This session does not exist here: it ended, the daemon was restarted, or it is with another daemon, which alone can continue it. Put the card on the reader again.',
    )
  }

  /** @throws DomainError conflict if a session is working on the chip */
  async assertFree({ db, clock }: Deps, uid: string): Promise<void> {
    this.#locks.assertFree({ clock }, { uid })
    if ((await this.#shared.elsewhere(db, nameOf({ uid }), silentAfterMs)).length > 0)
      throw new ChipBusy({ uid })
  }

  /** @returns the number of a sheet's rows that sessions work on */
  async heldRows(deps: Deps, run: number): Promise<number> {
    const elsewhere = await this.#shared.elsewhere(deps.db, rowsOf(run), silentAfterMs)
    return this.#locks.heldRows(deps, run) + elsewhere.length
  }

  #locksFor(deps: Deps) {
    const takeOver = (session: NfcSession) => {
      void this.#drop(deps, session)
      this.#takenOver.add(session.id)
      for (const id of this.#takenOver) if (this.#takenOver.size > maxRemembered) this.#takenOver.delete(id)
      void this.#noteLost(deps, session, 'The program that was at it was not heard any more')
    }
    const lockDeps = { clock: deps.clock, takeOver }
    const { db } = deps
    /** Gives back what another daemon's session holds. */
    const isOurs = async (session: NfcSession, held: SessionLock, silentMs: number) => {
      if (await this.#shared.take(db, session, nameOf(held), silentMs)) return true
      this.#locks.release(session, held)
      return false
    }
    return {
      take: async (session: NfcSession, held: SessionLock) => {
        await this.#locks.take(lockDeps, session, held)
        if (!(await isOurs(session, held, 'uid' in held ? silentAfterMs : lostAfterMs)))
          throw new ChipBusy(held)
      },
      tryTake: async (session: NfcSession, held: SessionLock, isSpare = false) =>
        this.#locks.tryTake(lockDeps, session, held, isSpare) &&
        isOurs(session, held, isSpare ? idleMs : lostAfterMs),
      release: (session: NfcSession, held: SessionLock) => {
        this.#locks.release(session, held)
        void this.#shared.release(db, session, nameOf(held)).catch(() => undefined)
      },
    }
  }

  #sweep(deps: Deps): void {
    const now = deps.clock.monotonic()
    for (const session of [...this.#sessions.values()]) {
      if (session.running || (now - session.usedAt < idleMs && now - session.openedAt < lifeMs)) continue
      void this.#drop(deps, session)
      void this.#noteLost(deps, session, 'The program that was at it was not heard any more')
    }
  }

  /** A connection that flaps leaves a session behind at each try: the one that is silent for longest makes room. */
  #dropSilent(deps: Deps): void {
    const mayGo = (session: NfcSession) => session.planId === undefined && isSilent(deps.clock, session)
    const [silent] = [...this.#sessions.values()].filter(mayGo).sort((a, b) => a.usedAt - b.usedAt)
    if (silent) void this.#drop(deps, silent)
  }

  /** At once for this daemon. @returns when it is for the others, which otherwise wait until it is silent */
  #drop({ db }: Deps, session: NfcSession): Promise<void> {
    this.#sessions.delete(session.id)
    this.#locks.releaseAll(session)
    return this.#shared.release(db, session).catch(() => undefined)
  }

  async #noteLost(deps: Deps, { planId, uid, actor }: NfcSession, problem: string): Promise<void> {
    if (planId === undefined || uid === null) return
    await recordProblem(deps, actor, { id: planId, uid }, problem).catch(() => undefined)
  }
}
