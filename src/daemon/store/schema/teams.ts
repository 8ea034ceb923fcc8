import type { Generated } from 'kysely'
import type { Diversification } from '../../../values/diversifications.ts'

export interface TeamsTable {
  id: Generated<number>
  name: string
  createdAt: string
  /** Daily limits of count and gas; null: the default. */
  transactionsPerDay: number | null
  gasPerDay: number | null
  /** UTC day of spentTransactions and spentGas. */
  spentDay: string | null
  spentTransactions: Generated<number>
  spentGas: Generated<number>
  /** The look of tap pages; null: the page's own. */
  brandName: string | null
  /** `#rrggbb` */
  brandColor: string | null
  /** `#rrggbb` */
  brandBackground: string | null
  brandLogoUrl: string | null
  /** 1: its chips have pages at /p. */
  /** JSON: own texts of tap pages by language and key; null: the built-in ones. */
  pageStrings: string | null
  publicPages: Generated<number>
}

/** Of `apiKeys` and of `adminTokens`. */
export interface CredentialsTable {
  id: Generated<number>
  /** null: all teams, which only admin tokens can be for. */
  teamId: number | null
  name: string
  /** Same as `mac`. */
  hash: string
  /** HMAC by which the secret is found; null: never. */
  mac: string | null
  /** HMAC of its rights; see CredentialMac. */
  seal: string | null
  /** The first characters of the secret; null for admin tokens of the version before. */
  hint: string | null
  /** JSON: Scope[] */
  scopes: string
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  /** Address and program. */
  lastUsedFrom: string | null
  rolledAt: string | null
  /** The secret that the last roll replaced, its end, and an HMAC of both. */
  previousMac: string | null
  previousUntil: string | null
  previousSeal: string | null
}

export interface KeySetsTable {
  id: number
  /** All keys are encrypted with the data key. */
  metaReadKey: Uint8Array
  fileReadKey: Uint8Array | null
  appMasterKey: Uint8Array | null
  diversification: Diversification
  /** Hex. */
  systemIdentifier: string
  /** See parseTemplate; null only if a daemon of the version before created the key set. */
  template: string | null
  /** `enc:BYTE`, if a TagTamper's status lies in the encrypted data. */
  tamperAt: string | null
  /** null: aes. */
  mode: 'aes' | 'lrp' | null
  // Read by daemons of the version before.
  macInputFrom: 'd' | 'e' | null
  nameOfE: string
  nameOfC: string
  nameOfD: string
  createdAt: string
}

export interface LinksTable {
  id: Generated<number>
  teamId: number
  label: string
  baseUrl: string
  createdAt: string
}
