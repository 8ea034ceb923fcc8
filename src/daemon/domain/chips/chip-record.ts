import type { Chains } from '../../chain/chains.ts'
import { badgeEventsOf } from '../../store/badge-events.ts'
import { type ChipRecordRow, findChipRecord } from '../../store/chip-records.ts'
import type { Db, Queries } from '../../store/database.ts'
import { guestbookEventsOf } from '../../store/guestbook-events.ts'
import type { TokenLocation } from '../../store/tokens.ts'
import { type BadgeStatus, badgeStatus } from '../badge-status.ts'
import { type KnownOwner, ownerByChain } from '../chain/token-owner.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { linkedToken } from './carried.ts'

/**
 * What a UID that somebody wrote may mean, the likeliest first. Fourteen digits are read as hex, and may yet have
 * been meant as a decimal.
 */
export type UidReadings = readonly [string, ...string[]]

/** All that is known of a chip. */
export interface ChipRecord {
  chip: ChipRecordRow
  token: (TokenLocation & KnownOwner) | undefined
  badgeEvents: { id: number; name: string; status: BadgeStatus }[]
  guestbookEvents: { id: number; name: string }[]
  /** It has a token, an item, a redirect or an assignment. */
  isConfigured: boolean
}

/** The chip of a UID, whichever team has it. @throws DomainError not_found */
export async function chipOf(db: Queries, readings: UidReadings): Promise<ChipRecordRow> {
  for (const uid of readings) {
    const chip = await findChipRecord(db, uid)
    if (chip) return chip
  }
  throw new DomainError(
    'not_found',
    `There is no chip with the UID ${readings[0]}. Check the UID, or import the chip.`,
  )
}

/** @throws DomainError not_found */
export async function showChip(
  { db, clock, chains }: { db: Pick<Db, 'read'>; clock: Clock; chains: Chains },
  readings: UidReadings,
): Promise<ChipRecord> {
  const chip = await chipOf(db.read, readings)
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
