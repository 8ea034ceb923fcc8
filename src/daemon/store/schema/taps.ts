import type { Generated } from 'kysely'

export interface TapsTable {
  id: Generated<number>
  at: string
  chipUid: string | null
  teamId: number | null
  keySetId: number | null
  counter: number | null
  outcome: 'valid' | 'replayed' | 'caught-up' | 'wrong-mac' | 'disabled' | 'unknown-chip' | 'unknown-key-set'
  via: 'find' | 'page'
  /** The seal of a TagTamper chip, if the tap tells it. */
  tamper: 'closed' | 'open' | null
  /** The chip's valid tap before; see ChipsTable.lastTap. */
  previous: number | null
  /** When its refs expire; null: it has none. */
  refsUntil: string | null
  /** When its page cannot be loaded again; null: it has none. */
  pageUntil: string | null
  /** IDs of the links on its page, with commas. */
  links: string | null
  /** One bit for each of its refs that was queried. */
  queried: Generated<number>
  /** What codes it made: see storedCodes. */
  codes: string | null
}

/** A code that was spent or deleted. */
export interface SpentCodesTable {
  /** See hashCode. */
  codeHash: string
  tapId: number
  /** See subjectKey. */
  subject: string
  /** From then on the tap's other codes for the subject have ended; null: the use came to nothing. */
  takenAt: Generated<string | null>
  /** How many codes the tap had made by then: only those ended. */
  madeThen: number
  usedAt: Generated<string | null>
  deletedAt: Generated<string | null>
  /** The transfer signature that it was used up for, sealed with the code itself. */
  signature: Generated<Uint8Array | null>
}
