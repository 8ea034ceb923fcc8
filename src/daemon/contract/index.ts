import { audit } from './admin/audit.ts'
import { adminBadgeEvents } from './admin/badge-events.ts'
import { chains } from './admin/chains.ts'
import { adminChipGroups } from './admin/chip-groups.ts'
import { chipLists } from './admin/chip-lists.ts'
import { chipNotes } from './admin/chip-notes.ts'
import { adminChips } from './admin/chips.ts'
import { adminChipsApply } from './admin/chips-apply.ts'
import { contracts } from './admin/contracts.ts'
import { adminTokens, apiKeys, whoami } from './admin/credentials.ts'
import { daemon } from './admin/daemon.ts'
import { eventRates } from './admin/event-rates.ts'
import { adminItems } from './admin/items.ts'
import { keySets } from './admin/key-sets.ts'
import { links } from './admin/links.ts'
import { liveEvents } from './admin/live-events.ts'
import { nfc } from './admin/nfc.ts'
import { nfcJournal } from './admin/nfc-journal.ts'
import { pages } from './admin/pages.ts'
import { reservations } from './admin/reservations.ts'
import { tapPulse } from './admin/tap-pulse.ts'
import { taps } from './admin/taps.ts'
import { teams } from './admin/teams.ts'
import { transactions } from './admin/transactions.ts'
import { webhooks } from './admin/webhooks.ts'
import { badgeEvents } from './badge-events.ts'
import { batches, batchFiles } from './batches.ts'
import { chipGroups } from './chip-groups.ts'
import { chips } from './chips.ts'
import { events } from './events.ts'
import { items } from './items.ts'
import { otps } from './otps.ts'
import { phygitalBatches } from './phygital-batches.ts'
import { phygitals } from './phygitals.ts'
import { poapReads } from './poap-reads.ts'
import { refs } from './refs.ts'
import { team } from './team.ts'
import { publicTransactions } from './transactions.ts'

/** Every endpoint by `METHOD /path`. Routes, OpenAPI, and the CLI's client all use this table. */
export const endpoints = {
  ...chips,
  ...refs,
  ...otps,
  ...items,
  ...chipGroups,
  ...phygitals,
  ...events,
  ...phygitalBatches,
  ...batches,
  ...batchFiles,
  ...badgeEvents,
  ...poapReads,
  ...publicTransactions,
  ...team,
  ...teams,
  ...apiKeys,
  ...adminTokens,
  ...whoami,
  ...keySets,
  ...adminChipGroups,
  ...chipLists,
  ...adminChips,
  ...chipNotes,
  ...adminChipsApply,
  ...adminItems,
  ...links,
  ...reservations,
  ...adminBadgeEvents,
  ...eventRates,
  ...contracts,
  ...transactions,
  ...chains,
  ...taps,
  ...tapPulse,
  ...liveEvents,
  ...pages,
  ...audit,
  ...daemon,
  ...nfc,
  ...nfcJournal,
  ...webhooks,
} as const

export type Endpoints = typeof endpoints
export type EndpointKey = keyof Endpoints
