import type { Selectable } from 'kysely'
import type {
  BadgeClaimsTable,
  BadgeCodesTable,
  BadgeImagesTable,
  PoapCreationsTable,
  PoapEventsTable,
} from './schema/badges.ts'
import type { ChipGroupsTable, ChipsTable, RemovedChipsTable } from './schema/chips.ts'
import type {
  BadgeAssignmentsTable,
  BadgeEventsTable,
  GuestbookAssignmentsTable,
  GuestbookEventsTable,
} from './schema/events.ts'
import type { NfcPlansTable } from './schema/nfc.ts'
import type {
  AdminTokensTable,
  ApiKeysTable,
  KeySetsTable,
  LinksTable,
  TeamsTable,
} from './schema/ownership.ts'
import type { AuditTable, NamesTable, SettingsTable } from './schema/records.ts'
import type { OtpsTable, PageVisitsTable, RefsTable, TapsTable } from './schema/taps.ts'
import type {
  ClaimRegistrationsTable,
  ContractsTable,
  DeferredAnnouncementsTable,
  ItemsTable,
  MarketplaceRefreshesTable,
  TokensTable,
  UsedSignaturesTable,
} from './schema/things.ts'
import type {
  IdempotencyKeysTable,
  SendersTable,
  TransactionAttemptsTable,
  TransactionsTable,
} from './schema/transactions.ts'

export type * from './schema/badges.ts'
export type * from './schema/chips.ts'
export type * from './schema/events.ts'
export type * from './schema/nfc.ts'
export type * from './schema/ownership.ts'
export type * from './schema/records.ts'
export type * from './schema/taps.ts'
export type * from './schema/things.ts'
export type * from './schema/transactions.ts'

// Times are ISO 8601 UTC with milliseconds, so that text order is time order in every database.
// Flags are 0 and 1. Members that hold JSON say so.

export interface Database {
  teams: TeamsTable
  apiKeys: ApiKeysTable
  adminTokens: AdminTokensTable
  keySets: KeySetsTable
  contracts: ContractsTable
  tokens: TokensTable
  items: ItemsTable
  claimRegistrations: ClaimRegistrationsTable
  usedSignatures: UsedSignaturesTable
  marketplaceRefreshes: MarketplaceRefreshesTable
  deferredAnnouncements: DeferredAnnouncementsTable
  chipGroups: ChipGroupsTable
  chips: ChipsTable
  removedChips: RemovedChipsTable
  links: LinksTable
  guestbookEvents: GuestbookEventsTable
  guestbookAssignments: GuestbookAssignmentsTable
  badgeEvents: BadgeEventsTable
  badgeAssignments: BadgeAssignmentsTable
  poapEvents: PoapEventsTable
  poapCreations: PoapCreationsTable
  badgeCodes: BadgeCodesTable
  badgeClaims: BadgeClaimsTable
  badgeImages: BadgeImagesTable
  taps: TapsTable
  refs: RefsTable
  otps: OtpsTable
  pageVisits: PageVisitsTable
  audit: AuditTable
  names: NamesTable
  settings: SettingsTable
  transactions: TransactionsTable
  transactionAttempts: TransactionAttemptsTable
  senders: SendersTable
  idempotencyKeys: IdempotencyKeysTable
  nfcPlans: NfcPlansTable
}

export type TeamRow = Selectable<TeamsTable>
export type ApiKeyRow = Selectable<ApiKeysTable>
export type AdminTokenRow = Selectable<AdminTokensTable>
export type KeySetRow = Selectable<KeySetsTable>
export type ContractRow = Selectable<ContractsTable>
export type TokenRow = Selectable<TokensTable>
export type ClaimRegistrationRow = Selectable<ClaimRegistrationsTable>
export type MarketplaceRefreshRow = Selectable<MarketplaceRefreshesTable>
export type ItemRow = Selectable<ItemsTable>
export type ChipGroupRow = Selectable<ChipGroupsTable>
export type ChipRow = Selectable<ChipsTable>
export type LinkRow = Selectable<LinksTable>
export type GuestbookEventRow = Selectable<GuestbookEventsTable>
export type BadgeEventRow = Selectable<BadgeEventsTable>
export type BadgeClaimRow = Selectable<BadgeClaimsTable>
export type TapRow = Selectable<TapsTable>
export type RefRow = Selectable<RefsTable>
export type OtpRow = Selectable<OtpsTable>
export type TransactionRow = Selectable<TransactionsTable>
export type TransactionAttemptRow = Selectable<TransactionAttemptsTable>
export type IdempotencyKeyRow = Selectable<IdempotencyKeysTable>
export type NfcPlanRow = Selectable<NfcPlansTable>
