import type { Chains } from '../../chain/chains.ts'
import type { Actor } from '../../store/audit/audit.ts'
import { badgeEventsOf } from '../../store/badge-events/badge-events.ts'
import { type ChipRecordRow, findChipRecord, hasAssignments } from '../../store/chips/chip-records.ts'
import type { ChipWithEvents } from '../../store/chips/chips.ts'
import { findItem } from '../../store/chips/items.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { guestbookEventsOf, type LocatedGuestbookEvent } from '../../store/guestbook/guestbook-events.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import type { ChipRow } from '../../store/schema/schema.ts'
import { hasBadges, hasGuestbooks } from '../../store/taps/events-of-chip.ts'
import { type KnownOwner, ownerByChain } from '../chain/read-chain.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { type BadgeStatus, badgeStatus, type ListedBadgeEvent, listedNow } from './badge-status.ts'

/** Most likely reading first: fourteen digits are read as hex, but may be decimal. */
export type UidReadings = readonly [string, ...string[]]

export interface ChipRecord {
  chip: ChipRecordRow
  token: (TokenLocation & KnownOwner) | undefined
  badgeEvents: { id: number; name: string; status: BadgeStatus }[]
  guestbookEvents: { id: number; name: string }[]
  /** True if the chip has a token, an item, a redirect URL, or an assigned event. */
  isConfigured: boolean
}

/** @throws DomainError not_found */
export async function chipOf(
  db: Queries,
  { ofTeam }: Pick<Actor, 'ofTeam'>,
  readings: UidReadings,
): Promise<ChipRecordRow> {
  for (const uid of readings) {
    const chip = await findChipRecord(db, uid)
    if (chip && (ofTeam === undefined || chip.teamId === ofTeam)) return chip
  }
  throw new DomainError(
    'not_found',
    `There is no chip with the UID ${readings[0]}. Check the UID, or import the chip.`,
  )
}

/** @throws DomainError not_found */
export async function showChip(
  { db, clock, chains }: { db: Pick<Db, 'read'>; clock: Clock; chains: Chains },
  of: Pick<Actor, 'ofTeam'>,
  readings: UidReadings,
): Promise<ChipRecord> {
  const chip = await chipOf(db.read, of, readings)
  const now = iso(clock.now())
  const token = linkedToken(chip)
  const badgeEvents = await badgeEventsOf(db.read, chip)
  const guestbookEvents = await guestbookEventsOf(db.read, chip.uid)
  const carries = [chip.tokenRow, chip.itemId, chip.redirectUrl].some((value) => value !== null)
  return {
    chip,
    token: token && { ...token, ...(await ownerByChain({ chains }, token)) },
    badgeEvents: badgeEvents.map((event) => ({
      id: event.id,
      name: event.name,
      status: badgeStatus(event, now),
    })),
    guestbookEvents: guestbookEvents.map(({ id, name }) => ({ id, name })),
    isConfigured: carries || badgeEvents.length > 0 || guestbookEvents.length > 0,
  }
}

type ChipBinding = Pick<ChipRow, 'uid' | 'teamId' | 'tokenRow' | 'itemId'>

/** True if taps of the chip give codes, which control a token, a mint, or an event. */
export const givesCodes = async (db: Queries, chip: ChipBinding): Promise<boolean> =>
  chip.tokenRow !== null ||
  (chip.itemId !== null && (await isMinting(db, chip.teamId, chip.itemId))) ||
  hasAssignments(db, chip.uid)

/** Counts an item without a contract, because a contract can be added later. */
export const hasBindings = async (db: Queries, chip: ChipBinding): Promise<boolean> =>
  chip.itemId !== null || givesCodes(db, chip)

/** True if a chip of the item that has no token gets one minted. */
export const isMinting = async (db: Queries, teamId: number, item: string): Promise<boolean> =>
  (await findItem(db, teamId, item))?.contractId != null

/** A tap gives codes for each of these. */
export interface ChipAssets {
  readonly token: (TokenLocation & { row: number }) | undefined
  readonly badgeEvents: readonly ListedBadgeEvent[]
  readonly guestbookEvents: readonly LocatedGuestbookEvent[]
  /** The chip has an item but no token, so a code mints the token. */
  readonly isUnminted: boolean
}

/** @param now ISO 8601 @param shownAt the time of which the windows of assignments count */
export async function assetsOf(
  db: Queries,
  chip: ChipWithEvents,
  now: string,
  shownAt = now,
): Promise<ChipAssets> {
  const token = linkedToken(chip)
  const assigned = hasBadges(chip.events) ? await badgeEventsOf(db, chip) : []
  const guestbooks = hasGuestbooks(chip.events) ? await guestbookEventsOf(db, chip.uid) : []
  return {
    token: token && chip.tokenRow !== null ? { ...token, row: chip.tokenRow } : undefined,
    badgeEvents: listedNow(assigned, now, shownAt),
    guestbookEvents: guestbooks,
    isUnminted: chip.itemId !== null && chip.tokenRow === null,
  }
}

type LinkColumns = Pick<ChipWithEvents, 'linkedAddress' | 'linkedChainId' | 'linkedTokenId'>

export function linkedToken(chip: LinkColumns): TokenLocation | undefined {
  const { linkedAddress, linkedChainId, linkedTokenId } = chip
  if (linkedAddress === null || linkedChainId === null || linkedTokenId === null) return undefined
  return { contractAddress: linkedAddress, chainId: linkedChainId, tokenId: linkedTokenId }
}
