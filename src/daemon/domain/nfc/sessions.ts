import { KeyedMutex } from '../../../values/semaphore.ts'
import type { Actor } from '../../store/audit/audit.ts'
import type { Db } from '../../store/database/database.ts'
import { heldLeases } from '../../store/lease/lease.ts'
import { endDryRun } from '../dry-run/dry-run.ts'
import { conflict, DomainError } from '../errors/errors.ts'
import type { Clock } from '../time/time.ts'
import { recordProblem } from './journal.ts'
import { type CardSession, NfcSession, type Reply, type SessionResult, type Step } from './session.ts'
import { failureOf, type SessionFailure } from './session-failure.ts'
import { ChipBusy, nameOf, rowsOf, type SessionLock } from './session-leases.ts'

type Deps = { db: Db; clock: Clock }

/** The caller that may continue a session. */
export interface SessionOwner {
  readonly token: string
  readonly actor: Actor
  /** A random ID of the computer and user at whose reader the card lies. */
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
/** A session that was silent for this long and has no chip yet makes room for another. */
const silentMs = 2_000

const takenOver = (): DomainError =>
  conflict(
    'Another session took this chip over, because this one was silent or its station started over. Put the chip on the reader again.',
  )

async function acquire({ leases }: NfcSession, held: SessionLock): Promise<void> {
  if (!(await leases.acquire(held))) throw new ChipBusy(held)
}

/** The first value sent to a generator is ignored. */
const started: Reply = { type: 'answers', answers: [] }

/** Active sessions with cards, in this daemon's memory only: the journal keeps what must survive them. */
export class NfcSessions {
  readonly #sessions = new Map<string, NfcSession>()
  /** By UID: only one acquisition, or one step of the session that has the chip, runs at a time. */
  readonly #chips = new KeyedMutex()

  /** @throws DomainError rate_limited; errors of the first step that are not failures of the chip */
  async open(
    deps: Deps,
    { token, actor, station }: SessionOwner,
    talk: (session: NfcSession) => CardSession,
  ): Promise<SessionStep> {
    endDryRun()
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
    const lock = (own: NfcSession, held: SessionLock) => this.#lock(deps, own, held)
    const session = new NfcSession({ token, actor, station, now, db: deps.db, lock })
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

  /**
   * Ends a session because the card is gone or the user stopped. Plans stay in the journal. @throws DomainError
   * not_found
   */
  async close(deps: Deps, { token, id }: { token: string; id: string }): Promise<void> {
    const session = this.#find(token, id)
    // The running step is completed before another session may have the chip.
    await session.running
    if (!this.#sessions.has(id)) return
    await this.#drop(session)
    await this.#noteLost(deps, session, 'The card was lifted too early, or the program was stopped')
  }

  #advance(deps: Deps, session: NfcSession, reply: Reply | undefined): Promise<SessionStep> {
    const { uid } = session
    const run = () => this.#renewed(deps, session, () => this.#step(deps, session, reply))
    const step = uid !== null && session.leases.has({ uid }) ? this.#chips.run(uid, run) : run()
    const done = () => undefined
    session.running = step.then(done, done)
    return step
  }

  /** @throws DomainError conflict if another session acquired its chip while this one was silent */
  async #renewed(deps: Deps, session: NfcSession, step: () => Promise<SessionStep>): Promise<SessionStep> {
    try {
      if (!session.isTakenOver && !(await session.leases.renew())) await this.#loseChip(deps, session)
      if (session.isTakenOver) throw takenOver()
      return await step()
    } finally {
      await session.leases.renew().catch(() => undefined)
      session.running = undefined
      session.usedAt = deps.clock.monotonic()
    }
  }

  async #step(deps: Deps, session: NfcSession, reply: Reply | undefined): Promise<SessionStep> {
    const { conversation, id } = session
    if (!conversation) throw new Error('A session without a conversation')
    try {
      const result = await conversation.next(reply ?? started)
      session.step += 1
      if (result.done) return await this.#ended(session, result.value)
      session.expects = result.value.type === 'apdus' ? 'answers' : 'details'
      return { id, step: session.step, next: result.value }
    } catch (error) {
      const failure = failureOf(error)
      await this.#drop(session)
      const { uid, keySet, url, planId, actor } = session
      if (planId !== undefined && uid !== null)
        await recordProblem(deps, actor, { id: planId, uid }, failure?.error ?? 'An internal error occurred')
      if (!failure) throw error
      session.step += 1
      return this.#ended(session, { status: 'failed', uid, keySet, url, ...failure })
    }
  }

  async #ended(session: NfcSession, outcome: SessionEnd): Promise<SessionStep> {
    await this.#drop(session)
    return { id: session.id, step: session.step, next: { type: 'ended', outcome } }
  }

  #find(token: string, id: string): NfcSession {
    const session = this.#sessions.get(id)
    if (session?.token === token && session.isTakenOver) throw takenOver()
    if (session?.token === token) return session
    throw new DomainError(
      'not_found',
      'This session does not exist here: it ended, the daemon was restarted, or it is with another daemon, which alone can continue it. Put the card on the reader again.',
    )
  }

  /** @throws DomainError conflict if a session is working on the chip */
  async assertFree({ db }: Pick<Deps, 'db'>, uid: string): Promise<void> {
    const name = nameOf({ uid })
    if ((await heldLeases(db.read, name)).includes(name)) throw new ChipBusy({ uid })
  }

  /** @returns the number of a sheet's rows that sessions work on */
  async heldRows({ db }: Pick<Deps, 'db'>, run: number): Promise<number> {
    return (await heldLeases(db.read, rowsOf(run))).length
  }

  /** @throws ChipBusy */
  async #lock(deps: Deps, session: NfcSession, held: SessionLock): Promise<void> {
    if (session.leases.has(held)) return
    if (!('uid' in held)) return acquire(session, held)
    await new Promise<void>((resolve, reject) => {
      const job = async () => {
        await acquire(session, held)
        const lost = [...this.#sessions.values()].filter((one) => one !== session && one.leases.has(held))
        await Promise.all(lost.map((one) => this.#loseChip(deps, one)))
        resolve()
        await session.running
      }
      this.#chips.run(held.uid, job).catch(reject)
    })
  }

  /** The session is kept for a while, so that its client can be told. */
  async #loseChip(deps: Deps, session: NfcSession): Promise<void> {
    session.isTakenOver = true
    await session.leases.release()
    await this.#noteLost(deps, session, 'The program that was at it was not heard any more')
    session.planId = undefined
  }

  #sweep(deps: Deps): void {
    const now = deps.clock.monotonic()
    for (const session of [...this.#sessions.values()]) {
      if (session.running || (now - session.usedAt < idleMs && now - session.openedAt < lifeMs)) continue
      void this.#drop(session)
      void this.#noteLost(deps, session, 'The program that was at it was not heard any more')
    }
  }

  /** An unstable connection leaves a session behind at each try: the one that is silent longest makes room. */
  #dropSilent(deps: Deps): void {
    const now = deps.clock.monotonic()
    const mayGo = ({ planId, running, usedAt }: NfcSession) =>
      planId === undefined && !running && now - usedAt >= silentMs
    const [silent] = [...this.#sessions.values()].filter(mayGo).sort((a, b) => a.usedAt - b.usedAt)
    if (silent) void this.#drop(silent)
  }

  #drop(session: NfcSession): Promise<void> {
    this.#sessions.delete(session.id)
    return session.leases.release()
  }

  async #noteLost(deps: Deps, { planId, uid, actor }: NfcSession, problem: string): Promise<void> {
    if (planId === undefined || uid === null) return
    await recordProblem(deps, actor, { id: planId, uid }, problem).catch(() => undefined)
  }
}
