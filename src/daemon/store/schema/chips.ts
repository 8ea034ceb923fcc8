import type { Generated } from 'kysely'

export interface ChipGroupsTable {
  id: Generated<number>
  teamId: number
  name: string
  createdAt: string
  /** How many chips it holds; written with each chip that comes or goes. */
  chips: Generated<number>
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
  simulated: number
  /** What its taps are proved by: key set and UID, or a HaLo chip's public key. */
  identity: string
  uid: string
  /** Tells whether a chip of that UID under another key set makes the same taps; null for HaLo chips. */
  proof: string | null
  lastCounter: number
  generation: number
  removedAt: string
}
