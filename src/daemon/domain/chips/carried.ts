import { type AssignedBadgeEvent, badgeEventsOf } from '../../store/badge-events.ts'
import type { TappedChip } from '../../store/chips.ts'
import type { Queries } from '../../store/database.ts'
import { guestbookEventsOf, type LocatedGuestbookEvent } from '../../store/guestbook-events.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import { isListed } from '../badge-status.ts'

/** What a chip carries now: that is what its taps give codes for. */
export interface Carried {
  readonly token: (TokenLocation & { row: number }) | undefined
  readonly badgeEvents: readonly AssignedBadgeEvent[]
  readonly guestbookEvents: readonly LocatedGuestbookEvent[]
  /** Bound to an item and to no token: a code mints the token. */
  readonly isUnminted: boolean
}

/** Gathers what a chip carries. @param now ISO 8601 */
export async function carriedBy(db: Queries, chip: TappedChip, now: string): Promise<Carried> {
  const token = linkedToken(chip)
  const assigned = chip.hasBadgeEvents ? await badgeEventsOf(db, chip) : []
  return {
    token: token && chip.tokenRow !== null ? { ...token, row: chip.tokenRow } : undefined,
    badgeEvents: assigned.filter((event) => isListed(event, now)),
    guestbookEvents: chip.hasGuestbookEvents ? await guestbookEventsOf(db, chip.uid) : [],
    isUnminted: chip.itemId !== null && chip.tokenRow === null,
  }
}

type Linked = Pick<TappedChip, 'linkedAddress' | 'linkedChainId' | 'linkedTokenId'>

export function linkedToken(chip: Linked): TokenLocation | undefined {
  const { linkedAddress, linkedChainId, linkedTokenId } = chip
  if (linkedAddress === null || linkedChainId === null || linkedTokenId === null) return undefined
  return { contractAddress: linkedAddress, chainId: linkedChainId, tokenId: linkedTokenId }
}
