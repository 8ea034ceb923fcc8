import { hasAssignments } from '../../store/chip-records.ts'
import type { Queries } from '../../store/database.ts'
import { findItem } from '../../store/items.ts'
import type { ChipRow } from '../../store/schema.ts'

// What a chip's taps are worth: whoever can make them has all of it.

type Bound = Pick<ChipRow, 'uid' | 'teamId' | 'tokenRow' | 'itemId'>

/** Whether the taps of a chip give codes that somebody can use: for a token, a mint, or an event. */
export const hasPower = async (db: Queries, chip: Bound): Promise<boolean> =>
  chip.tokenRow !== null ||
  (chip.itemId !== null && (await isMinting(db, chip.teamId, chip.itemId))) ||
  hasAssignments(db, chip.uid)

/** Whether a chip carries anything: also an item that has no contract, and may get one. */
export const carriesAnything = async (db: Queries, chip: Bound): Promise<boolean> =>
  chip.itemId !== null || hasPower(db, chip)

/** Whether the chips of an item that have no token yet get one minted. */
export const isMinting = async (db: Queries, teamId: number, item: string): Promise<boolean> =>
  (await findItem(db, teamId, item))?.contractId != null
