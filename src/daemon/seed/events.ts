import { createContractIn } from '../domain/contracts/contracts.ts'
import {
  assignBadgeEventToChip,
  findBadgeEventNamed,
  insertBadgeEvent,
  nextUpstreamId,
} from '../store/badge-events.ts'
import { findChip } from '../store/chips.ts'
import { findContractOfSymbol } from '../store/contracts.ts'
import {
  assignGuestbookEvent,
  findGuestbookEventAt,
  insertGuestbookEvent,
} from '../store/guestbook-events.ts'
import type { TeamRow } from '../store/schema.ts'
import type { SeedTeam } from './schema.ts'
import { at, type Seeding, SeedProblem } from './seeding.ts'

export async function seedGuestbooks(
  seeding: Seeding,
  team: TeamRow,
  seed: SeedTeam,
  path: string,
): Promise<void> {
  const { trx, at: now } = seeding
  for (const [index, { events, ...contract }] of seed.guestbookContracts.entries()) {
    const here = `${path}.guestbookContracts.${index}`
    const known = await findContractOfSymbol(trx, team.id, contract.symbol)
    if (known && known.kind !== 'guestbook')
      throw new SeedProblem(
        `The seed does not fit: ${here}: ${contract.symbol} is a contract of another kind`,
      )
    const row =
      known ?? (await at(here, () => createContractIn(trx, team, { kind: 'guestbook', ...contract }, now)))
    for (const [number, event] of events.entries()) {
      const { name, tokenId, metadata } = event
      const fresh = {
        teamId: team.id,
        contractId: row.id,
        name,
        tokenId,
        metadata: JSON.stringify(metadata),
        createdAt: now,
      }
      const id =
        (await findGuestbookEventAt(trx, row.id, tokenId)) ?? (await insertGuestbookEvent(trx, fresh))
      for (const uid of await ownChips(seeding, team, event.chips, `${here}.events.${number}.chips`)) {
        await assignGuestbookEvent(trx, { guestbookEventId: id, chipUid: uid, createdAt: now })
      }
    }
  }
}

export async function seedBadgeEvents(
  seeding: Seeding,
  team: TeamRow,
  seed: SeedTeam,
  path: string,
): Promise<void> {
  const { trx, at: now } = seeding
  for (const [index, { chips, eventURL, ...event }] of seed.badgeEvents.entries()) {
    const id =
      (await findBadgeEventNamed(trx, team.id, event.name)) ??
      (await insertBadgeEvent(trx, {
        ...event,
        teamId: team.id,
        eventUrl: eventURL,
        privateEvent: Number(event.privateEvent),
        virtualEvent: Number(event.virtualEvent),
        // A seeded event has its codes at once.
        remainingCodes: event.requestedCodes,
        approval: 'approved',
        upstreamId: await nextUpstreamId(trx),
        createdAt: now,
      }))
    for (const uid of await ownChips(seeding, team, chips, `${path}.badgeEvents.${index}.chips`)) {
      await assignBadgeEventToChip(trx, { badgeEventId: id, chipUid: uid, createdAt: now })
    }
  }
}

async function ownChips(
  { trx }: Seeding,
  team: TeamRow,
  uids: readonly string[],
  path: string,
): Promise<readonly string[]> {
  for (const [index, uid] of uids.entries()) {
    if ((await findChip(trx, uid))?.teamId !== team.id)
      throw new SeedProblem(`The seed does not fit: ${path}.${index}: the team has no chip ${uid}`)
  }
  return uids
}
