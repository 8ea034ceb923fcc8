import type { Generated } from 'kysely'

export interface AuditTable {
  id: Generated<number>
  at: string
  /** `admin:NAME`, `key:NAME`, `seed` or `daemon`. */
  actor: string
  teamId: number | null
  action: string
  target: string
  /** JSON without secrets. */
  detail: string
  requestId: string | null
  /** The batch of the CLI that the request belonged to. */
  batch: string | null
  /** Hash over this entry and the previous one; see values/audit-chain.ts. */
  hash: string | null
}

/** Finds the entries that concern a chip which is not their target. */
export interface AuditChipsTable {
  uid: string
  auditId: number
}

/** One row. */
export interface AuditHeadTable {
  id: number
  entries: number
  lastId: number
  /** Hash of the last entry. */
  hash: string
  /** HMAC of the columns before by a key derived from the data key. */
  seal: string | null
  /** When the data key began to seal the log, and the HMAC of that. Null until a daemon with the key has started. */
  sealedSince: string | null
  sinceSeal: string | null
}

export interface NamesTable {
  name: string
  address: string
}

/** Kinds of data that daemons cache and others may change. A migration creates each kind's row. */
export type ChangeKind = 'credentials' | 'keySets' | 'webhooks'

export interface ChangesTable {
  kind: ChangeKind
  /** Incremented with each change. */
  version: number
}

/** The daemons on one database. */
export interface DaemonsTable {
  /** Kept in the data directory. */
  id: string
  /** For people. */
  name: string
  /** JSON of the settings on which all have to agree; see fleet.ts. */
  settings: string
  /** Milliseconds of the database's clock. */
  heardAt: number
}

export interface SettingsTable {
  key: string
  value: string
}

/** Records which keys a chip may have, but not the keys. */
export interface NfcPlansTable {
  id: Generated<number>
  uid: string
  purpose: 'provision' | 'reset'
  /** JSON; see nfc/provision/plan.ts. */
  plan: string
  /** JSON of the registration; null for a reset. */
  registration: string | null
  /** Encrypted: keys 0 to 4 of a chip that had those of another system. Only while the plan is open. */
  suppliedKeys: Uint8Array | null
  openedAt: string
  openedBy: string
  problem: string | null
  /** null: the chip may have any of the keys in the plan. */
  closedAt: string | null
  closedBy: string | null
  /** `untouched`: nothing was written. `superseded`: a later plan continues. `given-up`: the chip is lost. */
  outcome: 'done' | 'untouched' | 'superseded' | 'given-up' | null
}

/** One pass of a box of chips over a sheet, by any number of stations. The rows themselves stay at the stations. */
export interface NfcSheetsTable {
  id: Generated<number>
  teamId: number
  /** The stations' ID of the sheet and its settings. */
  sheet: string
  rows: number
  /** Counts its nfcSheetRows. */
  taken: number
  /** The first row that may be free, from 1: all rows before it are taken. */
  nextRow: number
  openedAt: string
  /** When a row was last taken. */
  usedAt: string
  /** When all rows were taken, or the sheet was started over. */
  closedAt: string | null
}

/** The rows taken by chips. */
export interface NfcSheetRowsTable {
  run: number
  row: number
  /** null: its label is on a chip that has another row of the run. */
  uid: string | null
}

/** Lets one of several processes do something; see store/lease/lease.ts. */
export interface LeasesTable {
  name: string
  /** Empty: nobody. */
  holder: string
  /** Raised whenever the lease is acquired. */
  fence: number
  /** Milliseconds of the database's clock. */
  expiresAt: number
}
