import { audit } from './admin/audit.ts'
import { adminChipGroups } from './admin/chip-groups.ts'
import { adminChips } from './admin/chips.ts'
import { contracts } from './admin/contracts.ts'
import { adminTokens, apiKeys } from './admin/credentials.ts'
import { daemon } from './admin/daemon.ts'
import { adminItems } from './admin/items.ts'
import { keySets } from './admin/key-sets.ts'
import { links } from './admin/links.ts'
import { taps } from './admin/taps.ts'
import { teams } from './admin/teams.ts'
import { chipGroups } from './chip-groups.ts'
import { chips } from './chips.ts'
import { items } from './items.ts'
import { otps } from './otps.ts'
import { phygitals } from './phygitals.ts'
import { refs } from './refs.ts'

/** Every endpoint, by `METHOD /path`: the one table that routes, OpenAPI and the CLI's client read. */
export const endpoints = {
  ...chips,
  ...refs,
  ...otps,
  ...items,
  ...chipGroups,
  ...phygitals,
  ...teams,
  ...apiKeys,
  ...adminTokens,
  ...keySets,
  ...adminChipGroups,
  ...adminChips,
  ...adminItems,
  ...links,
  ...contracts,
  ...taps,
  ...audit,
  ...daemon,
} as const

export type Endpoints = typeof endpoints
export type EndpointKey = keyof Endpoints
