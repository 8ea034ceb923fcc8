import type { Generated } from 'kysely'
import type { TapOutcome, TapSource } from '../../../values/tap-outcomes.ts'

export interface TapsTable {
  id: Generated<number>
  at: string
  chipUid: string | null
  teamId: number | null
  keySetId: number | null
  counter: number | null
  outcome: TapOutcome
  via: TapSource
  /** The seal of a TagTamper chip, if the tap reports it. */
  tamper: 'closed' | 'open' | null
  /** Decrypted file data: text, or hex with `0x`. */
  fileData: string | null
  /** The chip's previous valid tap; see ChipsTable.lastTap. */
  previous: number | null
  /** When its refs expire; null: it has none. */
  refsUntil: string | null
  /** When its page can no longer be reloaded; null: it has none. */
  pageUntil: string | null
  /** IDs of the links on its page, comma-separated. */
  links: string | null
  /** A bit for each of its refs, set once queried. */
  queried: Generated<number>
  /** The codes that it made: see storedCodes. */
  codes: string | null
}

/** A code that was spent or deleted. */
export interface SpentCodesTable {
  /** See hashCode. */
  codeHash: string
  tapId: number
  /** See subjectKey. */
  subject: string
  /** When the tap's other codes for the subject ended; null: the use failed. */
  takenAt: Generated<string | null>
  /** How many codes the tap had made by then; only those ended. */
  madeThen: number
  usedAt: Generated<string | null>
  deletedAt: Generated<string | null>
  /** The transfer signature for which it was used, encrypted with the code itself. */
  signature: Generated<Uint8Array | null>
}

/** How many taps a minute brought, counted behind them. Kept for a few days. */
export interface TapMinutesTable {
  /** ISO 8601 up to the minute, in UTC. */
  minute: string
  /** 0: taps of unknown chips. */
  teamId: number
  outcome: TapOutcome
  taps: number
}

/** The same by what was tapped, as the chips were then. */
export interface TapHoursTable {
  /** ISO 8601 up to the hour, in UTC. */
  hour: string
  /** 0: taps of unknown chips. */
  teamId: number
  chipGroupId: number
  /** Empty: none. */
  itemId: string
  taps: number
  valid: number
}
