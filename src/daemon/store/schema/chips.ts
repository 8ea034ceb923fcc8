import type { Generated } from 'kysely'

export interface ChipGroupsTable {
  id: Generated<number>
  teamId: number
  name: string
  createdAt: string
  /** The number of its chips, updated with each that is added or removed. */
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
  /** Counts rekeyings: an input to the derivation of its keys. */
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

/** A removed chip that is registered again continues from this row, so its old taps stay invalid. */
export interface RemovedChipsTable {
  simulated: number
  /** Key set and UID, or a HaLo chip's public key: see chipIdentity. */
  identity: string
  uid: string
  /** Tells whether a chip of that UID under another key set makes the same taps; null for HaLo chips. */
  proof: string | null
  lastCounter: number
  generation: number
  removedAt: string
}
