import { DomainError } from '../errors/errors.ts'
import type { Clock } from '../time/time.ts'
import type { NfcSession, SessionLock } from './session.ts'

/** Whoever has the chip on another reader after this much silence may have it: it cannot be on both. */
export const silentAfterMs = 2_000
/** A label or a row is not to be had by presenting it, so its holder may only be slow for as long. */
export const lostAfterMs = 10_000

/** Another session holds what this one needs. Nothing was written. */
export class ChipBusy extends DomainError {
  constructor(held: SessionLock) {
    super(
      'conflict',
      'label' in held
        ? `Another chip is being given the label "${held.label}" right now. Choose another label, or wait until that chip is done.`
        : 'Another session is working on this chip. Wait until it is done; if its reader or computer is gone, try again in two seconds.',
    )
  }
}

interface LockDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Ends a session that lost what it held. */
  readonly takeOver: (session: NfcSession) => void
}

/** Unique among all that can be held. */
export const nameOf = (held: SessionLock): string => {
  if ('uid' in held) return `chip ${held.uid}`
  return 'label' in held ? `label ${held.teamId}/${held.label}` : `${rowsOf(held.run)}${held.row}`
}

/** Begins the names of a run's rows. */
export const rowsOf = (run: number): string => `row of ${run}: `

/** The holders of locks in this process. Each rule that they speed up is also a condition in the store. */
export class SessionLocks {
  readonly #holders = new Map<string, NfcSession>()

  /** @throws ChipBusy if a session that is still heard holds it */
  assertFree({ clock }: Pick<LockDeps, 'clock'>, held: SessionLock): void {
    const holder = this.#holders.get(nameOf(held))
    if (holder && isHeard(clock, holder)) throw new ChipBusy(held)
  }

  /** @throws ChipBusy */
  async take(deps: LockDeps, session: NfcSession, held: SessionLock): Promise<void> {
    for (;;) {
      const holder = this.#holders.get(nameOf(held))
      if (!holder || !isReplacedBy(session, holder, held) || !holder.running) break
      await holder.running
    }
    if (!this.tryTake(deps, session, held)) throw new ChipBusy(held)
  }

  /**
   * Ends the session from which it takes a chip. One that loses a label or a row may go on: the store gives those to the
   * first that is set up. @param isSpare there are others, so even one that is lost is left alone
   * @returns false if another session holds it
   */
  tryTake(deps: LockDeps, session: NfcSession, held: SessionLock, isSpare = false): boolean {
    const name = nameOf(held)
    const holder = this.#holders.get(name)
    if (holder && holder !== session) {
      if (isSpare || holder.running) return false
      if (!('uid' in held)) {
        if (isHeard(deps.clock, holder, lostAfterMs)) return false
      } else {
        if (isHeard(deps.clock, holder) && !isReplacedBy(session, holder, held)) return false
        deps.takeOver(holder)
      }
    }
    this.#holders.set(name, session)
    return true
  }

  release(session: NfcSession, held: SessionLock): void {
    const name = nameOf(held)
    if (this.#holders.get(name) === session) this.#holders.delete(name)
  }

  releaseAll(session: NfcSession): void {
    for (const [name, holder] of this.#holders) if (holder === session) this.#holders.delete(name)
  }

  /** @returns the number of rows that sessions hold */
  heldRows(deps: Pick<LockDeps, 'clock'>, run: number): number {
    const ofRun = (holder: NfcSession) => holder.place?.run === run && isHeard(deps.clock, holder)
    return [...new Set(this.#holders.values())].filter(ofRun).length
  }
}

const isHeard = (
  clock: LockDeps['clock'],
  { running, usedAt }: NfcSession,
  withinMs = silentAfterMs,
): boolean => running !== undefined || clock.monotonic() - usedAt < withinMs

/** True if a chip that it works on may be taken from it. */
export const isSilent = (clock: LockDeps['clock'], session: NfcSession): boolean => !isHeard(clock, session)

/**
 * A chip lies on one reader only, so an older session of the same station lost it. A label may be another reader's of
 * that station.
 */
const isReplacedBy = (session: NfcSession, holder: NfcSession, held: SessionLock): boolean =>
  'uid' in held &&
  holder !== session &&
  session.station !== undefined &&
  holder.station === session.station &&
  holder.token === session.token
