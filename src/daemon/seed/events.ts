import { ensureAssignedIn } from '../domain/badge-events/assign.ts'
import { ensureBadgeEventIn } from '../domain/badge-events/record-created.ts'
import { chipsAtOnce, teamOfChip } from '../domain/chips/named-chips.ts'
import { assignEventIn } from '../domain/guestbook/assign.ts'
import { ensureEventIn } from '../domain/guestbook/events.ts'
import type { SeedTeam } from './schema.ts'
import { ensureContract, SeedProblem, type TeamSeeding } from './seeding.ts'

export async function seedGuestbooks(seeding: TeamSeeding, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at } = seeding
  const teamId = seeding.team.id
  for (const [index, { events, ...contract }] of seed.guestbookContracts.entries()) {
    const here = `${path}.guestbookContracts.${index}`
    const { id: contractId, kind } = await ensureContract(seeding, { kind: 'guestbook', ...contract }, here)
    if (kind !== 'guestbook')
      throw new SeedProblem(
        `The seed does not fit: ${here}: ${contract.symbol} is a contract of another kind`,
      )
    for (const [number, { chips, ...event }] of events.entries()) {
      const { id } = await ensureEventIn(trx, { teamId, contractId, ...event, at })
      for (const uids of await ownChips(seeding, chips, `${here}.events.${number}.chips`))
        await assignEventIn(trx, { guestbookEventId: id, teamId, uids, at })
    }
  }
}

export async function seedBadgeEvents(seeding: TeamSeeding, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at, team } = seeding
  for (const [index, { chips, eventURL: eventUrl, ...event }] of seed.badgeEvents.entries()) {
    const badgeEventId = await ensureBadgeEventIn(trx, { teamId: team.id, at }, { ...event, eventUrl })
    for (const uids of await ownChips(seeding, chips, `${path}.badgeEvents.${index}.chips`))
      await ensureAssignedIn(trx, { badgeEventId, uids, at })
  }
}

/** In pieces, as many as a statement takes. */
async function ownChips(
  { trx, team }: TeamSeeding,
  uids: readonly string[],
  path: string,
): Promise<readonly string[][]> {
  const pieces: string[][] = []
  for (const [index, uid] of uids.entries()) {
    if ((await teamOfChip(trx, uid)) !== team.id)
      throw new SeedProblem(`The seed does not fit: ${path}.${index}: the team has no chip ${uid}`)
    if (index % chipsAtOnce === 0) pieces.push([])
    pieces.at(-1)?.push(uid)
  }
  return pieces
}
