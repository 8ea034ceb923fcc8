import type { Generated, Selectable } from 'kysely'

// Times are ISO 8601 UTC with milliseconds, so that text order is time order in every database.
// Flags are 0 and 1. Members that hold JSON say so.

export interface TeamsTable {
  id: Generated<number>
  name: string
  createdAt: string
}

export interface ApiKeysTable {
  id: Generated<number>
  teamId: number
  name: string
  /** SHA-256 of the key, hex: the key itself is nowhere. */
  hash: string
  hint: string
  /** JSON: Scope[] */
  scopes: string
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
}

export interface AdminTokensTable {
  id: Generated<number>
  name: string
  hash: string
  /** JSON: Scope[] */
  scopes: string
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
}

export interface KeySetsTable {
  id: number
  /** Encrypted with the data key, like every key below. */
  metaReadKey: Uint8Array
  fileReadKey: Uint8Array | null
  appMasterKey: Uint8Array | null
  diversification: 'none' | 'an10922' | 'listed'
  /** Hex. */
  systemIdentifier: string
  macInputFrom: 'd' | 'e' | null
  nameOfE: string
  nameOfC: string
  nameOfD: string
  createdAt: string
}

export interface ContractsTable {
  id: Generated<number>
  teamId: number
  kind: 'phygital' | 'guestbook'
  symbol: string
  name: string
  chainId: number
  /** EIP-55. For a contract that is not deployed yet: where it will be. */
  address: string
  status: 'pending' | 'confirmed'
  twoTapDelaySeconds: number | null
  twoTapWindowSeconds: number | null
  createdAt: string
}

export interface TokensTable {
  id: Generated<number>
  contractId: number
  /** uint256 in decimal. */
  tokenId: string
  owner: string | null
  /** JSON, a marketplace's metadata. */
  metadata: string | null
  createdAt: string
}

export interface ItemsTable {
  teamId: number
  id: string
  name: string
  description: string
  imageUrl: string
  contractId: number | null
  /** JSON: { mimeType, url }[] */
  media: string
  /** JSON: { name, values }[] */
  attributes: string
  /** JSON: { id, attributes: { name, value }[] }[] */
  variants: string
  createdAt: string
}

export interface ChipGroupsTable {
  id: Generated<number>
  teamId: number
  name: string
  createdAt: string
}

export interface ChipsTable {
  /** UniversalID: the seven bytes as one decimal number. */
  uid: string
  teamId: number
  chipGroupId: number
  family: 'ntag424' | 'halo'
  keySetId: number | null
  /** HaLo: pk2, uncompressed, upper-case hex. */
  publicKey: string | null
  /** Encrypted; for key sets whose keys are listed chip by chip. */
  fileReadKey: Uint8Array | null
  /** How often the chip was personalised again: part of what its keys are derived from. */
  generation: number
  /** The last tap counter taken; -1 before the first. */
  lastCounter: number
  /** The last counter of which a simulated URL was given out; -1 before the first. */
  simulatedCounter: Generated<number>
  lastTapAt: string | null
  redirectUrl: string | null
  itemId: string | null
  variantId: string | null
  /** tokens.id */
  tokenRow: number | null
  label: string | null
  simulated: number
  disabledAt: string | null
  disabledReason: string | null
  replacedBy: string | null
  createdAt: string
}

/** What must outlive a chip's row: registered again, it goes on from here, and its old taps stay worthless. */
export interface RemovedChipsTable {
  /** What its taps are proved by: key set and UID, or a HaLo chip's public key. */
  identity: string
  uid: string
  lastCounter: number
  generation: number
  removedAt: string
}

export interface LinksTable {
  id: Generated<number>
  teamId: number
  label: string
  baseUrl: string
  createdAt: string
}

export interface GuestbookEventsTable {
  id: Generated<number>
  teamId: number
  contractId: number
  name: string
  tokenId: string
  /** JSON */
  metadata: string
  createdAt: string
}

export interface GuestbookAssignmentsTable {
  guestbookEventId: number
  chipUid: string
  createdAt: string
}

export interface BadgeEventsTable {
  id: Generated<number>
  teamId: number
  name: string
  description: string
  city: string
  country: string
  /** YYYY-MM-DD, like endDate and expiryDate: whole days UTC. */
  startDate: string
  endDate: string
  expiryDate: string
  eventUrl: string
  privateEvent: number
  virtualEvent: number
  requestedCodes: number
  remainingCodes: number
  /** The event's id at the badge provider, `poapEventId` on the wire. */
  upstreamId: number
  approval: 'pending' | 'approved' | 'rejected'
  createdAt: string
}

export interface BadgeAssignmentsTable {
  id: Generated<number>
  badgeEventId: number
  /** One of the two is set: a chip, or every chip of a token. */
  chipUid: string | null
  tokenRow: number | null
  /** Absent: the event's own dates. */
  startsAt: string | null
  endsAt: string | null
  title: string
  description: string
  createdAt: string
}

export interface TapsTable {
  id: Generated<number>
  at: string
  chipUid: string | null
  teamId: number | null
  keySetId: number | null
  counter: number | null
  outcome: 'valid' | 'replayed' | 'wrong-mac' | 'disabled' | 'unknown-chip' | 'unknown-key-set'
  via: 'find' | 'page'
}

export interface RefsTable {
  id: string
  kind: 'redirect' | 'link'
  chipUid: string
  tapId: number
  /** The third-party link that it stands on. */
  linkId: number | null
  createdAt: string
  expiresAt: string
  queriedAt: string | null
}

export interface OtpsTable {
  code: string
  type: 'PHYGITAL_CLAIM' | 'POAP_EVENT' | 'GUESTBOOK_EVENT'
  chipUid: string
  tapId: number
  tokenRow: number | null
  badgeEventId: number | null
  guestbookEventId: number | null
  createdAt: string
  expiresAt: string
  usedAt: string | null
  deletedAt: string | null
}

/** Lets the browser that made a tap load its page again. */
export interface PageVisitsTable {
  /** SHA-256 of the cookie's value, hex. */
  cookieHash: string
  tapId: number
  chipUid: string
  counter: number
  expiresAt: string
}

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

export interface Database {
  teams: TeamsTable
  apiKeys: ApiKeysTable
  adminTokens: AdminTokensTable
  keySets: KeySetsTable
  contracts: ContractsTable
  tokens: TokensTable
  items: ItemsTable
  chipGroups: ChipGroupsTable
  chips: ChipsTable
  removedChips: RemovedChipsTable
  links: LinksTable
  guestbookEvents: GuestbookEventsTable
  guestbookAssignments: GuestbookAssignmentsTable
  badgeEvents: BadgeEventsTable
  badgeAssignments: BadgeAssignmentsTable
  taps: TapsTable
  refs: RefsTable
  otps: OtpsTable
  pageVisits: PageVisitsTable
  audit: AuditTable
  names: NamesTable
  settings: SettingsTable
}

export type TeamRow = Selectable<TeamsTable>
export type ApiKeyRow = Selectable<ApiKeysTable>
export type AdminTokenRow = Selectable<AdminTokensTable>
export type KeySetRow = Selectable<KeySetsTable>
export type ContractRow = Selectable<ContractsTable>
export type TokenRow = Selectable<TokensTable>
export type ItemRow = Selectable<ItemsTable>
export type ChipGroupRow = Selectable<ChipGroupsTable>
export type ChipRow = Selectable<ChipsTable>
export type LinkRow = Selectable<LinksTable>
export type GuestbookEventRow = Selectable<GuestbookEventsTable>
export type BadgeEventRow = Selectable<BadgeEventsTable>
export type TapRow = Selectable<TapsTable>
export type RefRow = Selectable<RefsTable>
export type OtpRow = Selectable<OtpsTable>
