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
