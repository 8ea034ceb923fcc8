import type { Selectable } from 'kysely'
import type * as batches from './batches.ts'
import type * as chips from './chips.ts'
import type * as contracts from './contracts.ts'
import type * as events from './events.ts'
import type * as reservations from './reservations.ts'
import type * as system from './system.ts'
import type * as taps from './taps.ts'
import type * as teams from './teams.ts'
import type * as transactions from './transactions.ts'
import type * as webhooks from './webhooks.ts'

export type * from './batches.ts'
export type * from './chips.ts'
export type * from './contracts.ts'
export type * from './events.ts'
export type * from './reservations.ts'
export type * from './system.ts'
export type * from './taps.ts'
export type * from './teams.ts'
export type * from './transactions.ts'
export type * from './webhooks.ts'

// Times are ISO 8601 UTC with milliseconds, so text order is time order. Flags are 0 or 1. JSON columns are marked.

export interface Database {
  teams: teams.TeamsTable
  apiKeys: teams.CredentialsTable
  adminTokens: teams.CredentialsTable
  keySets: teams.KeySetsTable
  contracts: contracts.ContractsTable
  tokens: contracts.TokensTable
  items: contracts.ItemsTable
  claimRegistrations: contracts.ClaimRegistrationsTable
  usedSignatures: contracts.UsedSignaturesTable
  marketplaceRefreshes: contracts.MarketplaceRefreshesTable
  deferredAnnouncements: contracts.DeferredAnnouncementsTable
  contractRelayers: contracts.ContractRelayersTable
  chipGroups: chips.ChipGroupsTable
  chips: chips.ChipsTable
  chipNotes: chips.ChipNotesTable
  removedChips: chips.RemovedChipsTable
  links: teams.LinksTable
  guestbookEvents: events.GuestbookEventsTable
  guestbookAssignments: events.GuestbookAssignmentsTable
  guestbookEntries: events.GuestbookEntriesTable
  badgeEvents: events.BadgeEventsTable
  badgeAssignments: events.BadgeAssignmentsTable
  poapEvents: events.PoapEventsTable
  poapCreations: events.PoapCreationsTable
  badgeCodes: events.BadgeCodesTable
  badgeClaims: events.BadgeClaimsTable
  badgeImages: events.BadgeImagesTable
  badgeContents: events.BadgeContentsTable
  badgeRecipients: events.BadgeRecipientsTable
  taps: taps.TapsTable
  spentCodes: taps.SpentCodesTable
  tapMinutes: taps.TapMinutesTable
  tapHours: taps.TapHoursTable
  reservations: reservations.ReservationsTable
  keptBadges: reservations.KeptBadgesTable
  mails: reservations.MailsTable
  mailQuotas: reservations.MailQuotasTable
  batches: batches.BatchesTable
  batchPieces: batches.BatchPiecesTable
  batchFiles: batches.BatchFilesTable
  audit: system.AuditTable
  auditHead: system.AuditHeadTable
  auditChips: system.AuditChipsTable
  names: system.NamesTable
  changes: system.ChangesTable
  daemons: system.DaemonsTable
  settings: system.SettingsTable
  leases: system.LeasesTable
  transactions: transactions.TransactionsTable
  transactionAttempts: transactions.TransactionAttemptsTable
  senders: transactions.SendersTable
  signerKeys: transactions.SignerKeysTable
  idempotencyKeys: transactions.IdempotencyKeysTable
  nfcPlans: system.NfcPlansTable
  nfcSheets: system.NfcSheetsTable
  nfcSheetRows: system.NfcSheetRowsTable
  webhooks: webhooks.WebhooksTable
  webhookDeliveries: webhooks.WebhookDeliveriesTable
}

export type TeamRow = Selectable<Database['teams']>
export type CredentialRow = Selectable<Database['apiKeys']>
export type KeySetRow = Selectable<Database['keySets']>
export type ContractRow = Selectable<Database['contracts']>
export type TokenRow = Selectable<Database['tokens']>
export type ClaimRegistrationRow = Selectable<Database['claimRegistrations']>
export type MarketplaceRefreshRow = Selectable<Database['marketplaceRefreshes']>
export type ItemRow = Selectable<Database['items']>
export type ChipGroupRow = Selectable<Database['chipGroups']>
export type ChipRow = Selectable<Database['chips']>
export type LinkRow = Selectable<Database['links']>
export type GuestbookEventRow = Selectable<Database['guestbookEvents']>
export type BadgeEventRow = Selectable<Database['badgeEvents']>
export type BadgeAssignmentRow = Selectable<Database['badgeAssignments']>
export type BadgeClaimRow = Selectable<Database['badgeClaims']>
export type TapMinuteRow = Selectable<Database['tapMinutes']>
export type TapHourRow = Selectable<Database['tapHours']>
export type TapRow = Selectable<Database['taps']>
export type SpentCodeRow = Selectable<Database['spentCodes']>
export type ReservationRow = Selectable<Database['reservations']>
export type MailRow = Selectable<Database['mails']>
export type TransactionRow = Selectable<Database['transactions']>
export type TransactionAttemptRow = Selectable<Database['transactionAttempts']>
export type IdempotencyKeyRow = Selectable<Database['idempotencyKeys']>
export type NfcPlanRow = Selectable<Database['nfcPlans']>
export type WebhookRow = Selectable<Database['webhooks']>
export type WebhookDeliveryRow = Selectable<Database['webhookDeliveries']>
