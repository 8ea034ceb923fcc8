import type { Generated } from 'kysely'

export interface ChipGroupsTable {
  id: Generated<number>
  teamId: number
  name: string
  createdAt: string
  /** Updated when chips are added or removed. */
  chips: Generated<number>
}

export interface ChipsTable {
  /** The seven bytes as one decimal number. */
  uid: string
  teamId: number
  chipGroupId: number
  family: 'ntag424' | 'halo'
  keySetId: number | null
  /** HaLo: pk2, uncompressed, upper-case hex. */
  publicKey: string | null
  /** Encrypted; only for listed key sets. */
  fileReadKey: Uint8Array | null
  /** Encrypted; null: that of the key set. */
  metaReadKey: Generated<Uint8Array | null>
  /** Number of rekeyings, used in key derivation. */
  generation: number
  /** Last accepted counter; -1 before the first tap. */
  lastCounter: number
  /** 1: restored from a backup, so the counter is old: the next tap only raises it. */
  catchesUp: Generated<number>
  /** Last counter used in a simulated URL; -1 before the first. */
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
  /** taps.id: this tap and earlier ones give no claim codes, since the token was transferred after them. */
  claimsEndedTap: Generated<number | null>
  /** Claim codes of earlier rounds ended at `claimsEndedAt`. */
  claimRound: Generated<number>
  claimsEndedAt: Generated<string | null>
  /** taps.id: the last valid one. */
  lastTap: Generated<number | null>
  /** taps.id: refs, codes, and pages of this tap and earlier ones ended at `endedAt`. */
  endedTap: Generated<number | null>
  endedAt: Generated<string | null>
  /** The batch that registered the chip; null as soon as anything but a tap changes it. */
  importBatch: Generated<string | null>
  /** The date of the last entry in the audit log that changed it among others; see chip-trail.ts. */
  changedAt: Generated<string | null>
  /** 1: an NTAG 424 TagTamper whose URL carries the status of its seal. */
  tagTamper: Generated<number>
  /** HaLo: where its URL has the counter, see nfc/halo/tap.ts. Null: not tapped since the column exists. */
  haloForm: Generated<'rnd' | 'cmd' | null>
  /** The seal's status at the last tap that reported it; once open, it stays open. */
  tamper: Generated<'closed' | 'open' | null>
  /** When a tap first reported it open. */
  openedAt: Generated<string | null>
  /** Of its page at /p. null: it was never shown. Random, so that it says nothing about the UID. */
  publicId: Generated<string | null>
}

/** What a team says of a chip on its page. */
export interface ChipNotesTable {
  id: Generated<number>
  chipUid: string
  text: string
  /** As in the audit log. */
  by: string
  at: string
}

/** Keeps old taps invalid when a removed chip is registered again. */
export interface RemovedChipsTable {
  simulated: number
  /** See chipIdentity. */
  identity: string
  uid: string
  /** Identifies chips with the same UID and keys under another key set; null for HaLo chips. */
  proof: string | null
  lastCounter: number
  /** Same as in `chips`. */
  lastTap: Generated<number | null>
  catchesUp: Generated<number>
  generation: number
  /** Same as in `chips`. */
  haloForm: Generated<'rnd' | 'cmd' | null>
  removedAt: string
}
