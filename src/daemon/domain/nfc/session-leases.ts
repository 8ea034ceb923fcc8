import type { Db } from '../../store/database/database.ts'
import { Lease } from '../../store/lease/lease.ts'
import { DomainError } from '../errors/errors.ts'

/** A row of a sheet: the run's ID, and the position from 1. */
export interface SheetPlace {
  readonly run: number
  readonly row: number
}

/** A chip, a team's label, or a row of a sheet. Only one session can hold it at a time. */
export type SessionLock =
  | { readonly uid: string }
  | { readonly label: string; readonly teamId: number }
  | SheetPlace

/** A chip cannot be on two readers: after this much silence, another session that has the chip may take it over. */
const chipLeaseMs = 2_000
/** A label or a row cannot be proven by presenting it, so its holder is allowed more time. */
const otherLeaseMs = 10_000
/** While other rows are free, the row of a silent session stays reserved for as long as the session may live. */
const spareMs = 110_000

/** Another session holds something that this one needs. Nothing was written. */
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

/** Unique among all leases. */
export const nameOf = (held: SessionLock): string => {
  if ('uid' in held) return `chip ${held.uid}`
  return 'label' in held ? `label ${held.teamId}/${held.label}` : `${rowsOf(held.run)}${held.row}`
}

/** Prefix of the names of a run's rows. */
export const rowsOf = (run: number): string => `row of ${run}: `

interface Holder {
  readonly id: string
  readonly uid: string | null
  readonly token: string
  readonly station: string | undefined
}

/**
 * The leases of one session. A session that loses its chip ends; one that loses a label or a row may continue: the
 * store gives those to the first chip that is set up.
 */
export class SessionLeases {
  readonly #db: Db
  readonly #session: Holder
  readonly #held = new Map<string, Lease>()

  constructor(db: Db, session: Holder) {
    this.#db = db
    this.#session = session
  }

  has(held: SessionLock): boolean {
    return this.#held.has(nameOf(held))
  }

  /** @param isSpare other rows are free @returns false if another session holds it */
  async acquire(held: SessionLock, isSpare = false): Promise<boolean> {
    if (this.has(held)) return true
    const name = nameOf(held)
    const isChip = 'uid' in held
    const { id, uid, token, station } = this.#session
    // A chip lies on one reader only, so an older session of the same station has lost it. Rows and labels
    // stay reserved for the chip.
    const ofStation = station === undefined ? id : JSON.stringify([token, station])
    const holder = isChip ? ofStation : `chip ${uid}`
    const lease = new Lease({ db: this.#db, name, holder, leaseMs: isChip ? chipLeaseMs : otherLeaseMs })
    if (!(await lease.acquire({ graceMs: isSpare ? spareMs : 0 }))) return false
    this.#held.set(name, lease)
    return true
  }

  /**
   * Call it before and after a step.
   * @returns false if another session acquired the chip while this one was silent
   */
  async renew(): Promise<boolean> {
    const renewed = [...this.#held].map(async ([name, lease]) => {
      if (lease.isHeld && (!lease.needsRenewal || (await lease.renew()))) return true
      if (name.startsWith('chip ')) return false
      this.#held.delete(name)
      return true
    })
    return (await Promise.all(renewed)).every(Boolean)
  }

  /** @param held absent: all */
  async release(held?: SessionLock): Promise<void> {
    const names = held === undefined ? [...this.#held.keys()] : [nameOf(held)]
    const leases = names.map((name) => this.#held.get(name))
    for (const name of names) this.#held.delete(name)
    await Promise.all(leases.map((lease) => lease?.release()))
  }
}
