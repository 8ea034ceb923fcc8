import { readFile } from 'node:fs/promises'
import { parseExact } from '../../values/json.ts'
import { describeFileError } from '../config/problem.ts'
import { required } from '../contract/list.ts'
import { ensureBrandIn } from '../domain/access/brand.ts'
import { ensureApiKeyIn } from '../domain/access/issue-credentials.ts'
import { ensureTeamIn } from '../domain/access/teams.ts'
import { ensureAssignedIn } from '../domain/badge-events/assign.ts'
import { ensureBadgeEventIn } from '../domain/badge-events/record-created.ts'
import { ensureNameIn } from '../domain/chain/recipients.ts'
import { ensureItemIn } from '../domain/chips/item-edits.ts'
import { createKeySetIn } from '../domain/chips/key-sets.ts'
import { createLinkIn, listLinks } from '../domain/chips/links.ts'
import { minBatchSize, teamOfChip } from '../domain/chips/named-chips.ts'
import { listContracts } from '../domain/contracts/contracts.ts'
import { assignEventIn } from '../domain/guestbook/assign.ts'
import { ensureEventIn } from '../domain/guestbook/events.ts'
import { iso } from '../domain/time/time.ts'
import { describeIssues } from '../http/parse-input.ts'
import type { Context } from '../process/context.ts'
import { seedChipGroups } from './chips.ts'
import { type Seed, type SeedTeam, seedFile } from './schema.ts'
import { at, ensureContract, type SeedContext, SeedProblem, type TeamSeedContext } from './seeding.ts'

/** Creates what is missing, all or nothing; existing data stays. @throws SeedProblem that names the path in the file */
export async function applySeed(ctx: Context, seed: Seed): Promise<void> {
  const at = iso(ctx.clock.now())
  await ctx.db.write(async (trx) => {
    const seeding: SeedContext = { trx, ctx, at }
    await seedKeySets(seeding, seed)
    for (const [name, address] of Object.entries(seed.names)) await ensureNameIn(trx, name, address)
    for (const [index, team] of seed.teams.entries()) await seedTeam(seeding, team, `teams.${index}`)
  })
  await ctx.credentials.load(ctx.db.read)
}

/** @throws SeedProblem that names the path in the file */
export async function readSeed(file: string): Promise<Seed> {
  let value: unknown
  try {
    value = parseExact(await readFile(file, 'utf8'))
  } catch (error) {
    throw new SeedProblem(`The seed ${file} cannot be read: ${describeFileError(error)}`)
  }
  const parsed = await seedFile.safeParseAsync(value, { error: required })
  if (!parsed.success)
    throw new SeedProblem(`The seed ${file} is invalid: ${describeIssues(parsed.error.issues)}`)
  return parsed.data
}

async function seedKeySets({ trx, ctx: { box, keyRing }, at: now }: SeedContext, seed: Seed): Promise<void> {
  await keyRing.load(trx)
  for (const [index, fields] of seed.keySets.entries())
    if (!keyRing.get(fields.id)) await at(`keySets.${index}`, () => createKeySetIn(trx, box, fields, now))
  // Chip keys are derived while chips are seeded.
  await keyRing.load(trx)
}

async function seedTeam(seeding: SeedContext, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at: now } = seeding
  const actor = { name: 'seed', requestId: null }
  const team = await ensureTeamIn(trx, { actor, at: now }, seed.name)
  const { brand } = seed
  if (brand) await at(`${path}.brand`, () => ensureBrandIn(trx, { team, actor, at: now }, brand))
  const known = await listContracts({ db: { read: trx } }, team.id)
  const contracts = new Map(known.map((contract) => [contract.symbol, contract]))
  const of: TeamSeedContext = { ...seeding, team, contracts }
  await seedKeysAndLinks(of, seed, path)
  for (const [index, contract] of seed.contracts.entries())
    await ensureContract(of, { kind: 'phygital', ...contract }, `${path}.contracts.${index}`)
  for (const [index, item] of seed.items.entries())
    await at(`${path}.items.${index}`, () => ensureItemIn(trx, team.id, item, now))
  await seedChipGroups(of, seed, path)
  await seedGuestbooks(of, seed, path)
  await seedBadgeEvents(of, seed, path)
}

async function seedKeysAndLinks(
  { trx, ctx: { credentials }, at: now, team: { id: teamId } }: TeamSeedContext,
  seed: SeedTeam,
  path: string,
): Promise<void> {
  for (const [index, key] of seed.apiKeys.entries())
    await at(`${path}.apiKeys.${index}`, () => ensureApiKeyIn(trx, credentials, { teamId, ...key, at: now }))
  const labels = new Set((await listLinks({ db: { read: trx } }, teamId)).map((link) => link.label))
  for (const [index, link] of seed.links.entries())
    if (!labels.has(link.label))
      await at(`${path}.links.${index}`, () => createLinkIn(trx, { teamId, createdAt: now, ...link }))
}

async function seedGuestbooks(seeding: TeamSeedContext, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at } = seeding
  const teamId = seeding.team.id
  for (const [index, { events, ...contract }] of seed.guestbookContracts.entries()) {
    const here = `${path}.guestbookContracts.${index}`
    const { id: contractId, kind } = await ensureContract(seeding, { kind: 'guestbook', ...contract }, here)
    if (kind !== 'guestbook')
      throw new SeedProblem(`The seed is invalid: ${here}: ${contract.symbol} is a contract of another kind`)
    for (const [number, { chips, ...event }] of events.entries()) {
      const { id } = await ensureEventIn(trx, { teamId, contractId, ...event, at })
      for (const uids of await ownChips(seeding, chips, `${here}.events.${number}.chips`))
        await assignEventIn(trx, { guestbookEventId: id, teamId, uids, at })
    }
  }
}

async function seedBadgeEvents(seeding: TeamSeedContext, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at, team } = seeding
  for (const [index, { chips, eventURL: eventUrl, ...event }] of seed.badgeEvents.entries()) {
    const badgeEventId = await ensureBadgeEventIn(trx, { teamId: team.id, at }, { ...event, eventUrl })
    const uids = chips.map(({ uid }) => uid)
    await ownChips(seeding, uids, `${path}.badgeEvents.${index}.chips`)
    for (const { uid: chipUid, ...window } of chips)
      await ensureAssignedIn(trx, { badgeEventId, chipUid, ...window, createdAt: at })
  }
}

/** Chunks of at most one statement's size. */
async function ownChips(
  { trx, team }: TeamSeedContext,
  uids: readonly string[],
  path: string,
): Promise<readonly string[][]> {
  const pieces: string[][] = []
  for (const [index, uid] of uids.entries()) {
    if ((await teamOfChip(trx, uid)) !== team.id)
      throw new SeedProblem(`The seed is invalid: ${path}.${index}: the team has no chip ${uid}`)
    if (index % minBatchSize === 0) pieces.push([])
    pieces.at(-1)?.push(uid)
  }
  return pieces
}
