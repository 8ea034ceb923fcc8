import type { Generated } from 'kysely'

export interface AuditTable {
  id: Generated<number>
  at: string
  /** `admin:NAME`, `key:NAME`, `seed` or `daemon`. */
  actor: string
  teamId: number | null
  action: string
  target: string
  /** JSON, never with a secret. */
  detail: string
  requestId: string | null
}

/** Names of the embedded chain's name service. */
export interface NamesTable {
  name: string
  address: string
}

export interface SettingsTable {
  key: string
  value: string
}

/** The journal of chips' set-ups: which keys a chip may have. Holds none of them. */
export interface NfcPlansTable {
  id: Generated<number>
  uid: string
  purpose: 'provision' | 'reset'
  /** JSON, by nfc/provision/plan.ts. */
  plan: string
  /** JSON: where the chip is registered in the end; null for a reset. */
  registration: string | null
  openedAt: string
  openedBy: string
  /** Why the last attempt at it ended. */
  problem: string | null
  /** null: the chip may be torn, and its keys any of the plan's. */
  closedAt: string | null
  closedBy: string | null
  /**
   * `untouched`: the chip was refused before anything was written. `superseded`: a later plan starts from it.
   * `given-up`: an operator says that the chip will not come back.
   */
  outcome: 'done' | 'untouched' | 'superseded' | 'given-up' | null
}
