import { hasAssignments } from '../store/chip-records.ts'
import type { Queries } from '../store/database.ts'
import { findItem } from '../store/items.ts'
import type { ChipRow } from '../store/schema.ts'

// What a chip's taps are worth. Whoever can make its taps has all of it.

/** Whether a chip carries a token, an item or an event, so that its taps give codes, or may some day. */
export const carriesAnything = async (
  db: Queries,
  { uid, tokenRow, itemId }: Pick<ChipRow, 'uid' | 'tokenRow' | 'itemId'>,
): Promise<boolean> => tokenRow !== null || itemId !== null || hasAssignments(db, uid)

/** Whether the chips of an item that have no token yet get one minted. */
export const isMinting = async (db: Queries, teamId: number, item: string): Promise<boolean> =>
  (await findItem(db, teamId, item))?.contractId != null
