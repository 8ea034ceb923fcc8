import { readFile } from 'node:fs/promises'
import { getAddress } from 'viem/utils'
import type { Context } from '../context.ts'
import { required } from '../contract/list.ts'
import { hashSecret, hintOf } from '../domain/access/secrets.ts'
import { createItemIn } from '../domain/chips/item-edits.ts'
import { createKeySetIn } from '../domain/chips/key-sets.ts'
import { createLinkIn } from '../domain/chips/links.ts'
import { createContractIn } from '../domain/contracts/contracts.ts'
import { iso } from '../domain/time.ts'
import { describeIssues } from '../http/parse-input.ts'
import { recordChange } from '../store/audit.ts'
import { findContractOfSymbol } from '../store/contracts.ts'
import { insertApiKey } from '../store/credentials.ts'
import { findItem } from '../store/items.ts'
import { allKeySets } from '../store/key-sets.ts'
import { linksOfTeam } from '../store/links.ts'
import { insertName } from '../store/names.ts'
import type { TeamRow } from '../store/schema.ts'
import { findTeamNamed, insertTeam } from '../store/teams.ts'
import { whyUnusable } from '../why-unusable.ts'
import { seedChipGroups } from './chips.ts'
import { seedBadgeEvents, seedGuestbooks } from './events.ts'
import { type Seed, type SeedTeam, seedFile } from './schema.ts'
import { at, type Seeding, SeedProblem } from './seeding.ts'

/**
 * Creates what a seed file describes and is missing, all of it or nothing; what is there stays as it is.
 * @throws SeedProblem that names the path in the file
 */
export async function loadSeed(ctx: Context, file: string): Promise<void> {
  await plantSeed(ctx, await readSeed(file))
}

/** The same for one that was read before anything was started, so that a slip in it costs nobody any time. */
export async function plantSeed(ctx: Context, seed: Seed): Promise<void> {
  const at = iso(ctx.clock.now())
  await ctx.db.write(async (trx) => {
    const seeding: Seeding = { trx, ctx, at }
    await seedKeySets(seeding, seed)
    // A listed or derived chip key is made while chips are seeded.
    ctx.keyRing.load(await allKeySets(trx))
    for (const [name, address] of Object.entries(seed.names))
      await insertName(trx, { name: name.toLowerCase(), address: getAddress(address.toLowerCase()) })
    for (const [index, team] of seed.teams.entries()) await seedTeam(seeding, team, `teams.${index}`)
  })
  ctx.keyRing.load(await allKeySets(ctx.db.read))
  await ctx.credentials.load(ctx.db.read)
}

/** @throws SeedProblem that names the path in the file */
export async function readSeed(file: string): Promise<Seed> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new SeedProblem(`The seed ${file} cannot be read: ${whyUnusable(error)}`)
  }
  const parsed = await seedFile.safeParseAsync(value, { error: required })
  if (!parsed.success)
    throw new SeedProblem(`The seed ${file} does not fit: ${describeIssues(parsed.error.issues)}`)
  return parsed.data
}

async function seedKeySets({ trx, ctx, at: now }: Seeding, seed: Seed): Promise<void> {
  const there = new Set((await allKeySets(trx)).map((row) => row.id))
  for (const [index, fields] of seed.keySets.entries()) {
    if (!there.has(fields.id)) await at(`keySets.${index}`, () => createKeySetIn(trx, ctx.box, fields, now))
  }
}

async function seedTeam(seeding: Seeding, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at: now } = seeding
  const known = await findTeamNamed(trx, seed.name)
  const team = known ?? (await insertTeam(trx, seed.name, now))
  if (!known) {
    const actor = { name: 'seed', requestId: null }
    await recordChange(trx, { at: now, actor, teamId: team.id, action: 'teams.create', target: seed.name })
  }
  await seedKeysAndLinks(seeding, team, seed, path)
  await seedContracts(seeding, team, seed, path)
  await seedItems(seeding, team, seed, path)
  await seedChipGroups(seeding, team, seed, path)
  await seedGuestbooks(seeding, team, seed, path)
  await seedBadgeEvents(seeding, team, seed, path)
}

async function seedKeysAndLinks(
  { trx, at: now }: Seeding,
  team: TeamRow,
  seed: SeedTeam,
  path: string,
): Promise<void> {
  for (const [index, { name, key }] of seed.apiKeys.entries()) {
    const hash = hashSecret(key)
    const known = await trx.selectFrom('apiKeys').select('teamId').where('hash', '=', hash).executeTakeFirst()
    if (known && known.teamId !== team.id)
      throw new SeedProblem(
        `The seed does not fit: ${path}.apiKeys.${index}: the key belongs to another team`,
      )
    if (!known)
      await insertApiKey(trx, {
        teamId: team.id,
        name,
        hash,
        hint: hintOf(key),
        scopes: '["all"]',
        createdAt: now,
        expiresAt: null,
        revokedAt: null,
      })
  }
  const labels = new Set((await linksOfTeam(trx, team.id)).map((link) => link.label))
  for (const [index, link] of seed.links.entries()) {
    if (!labels.has(link.label))
      await at(`${path}.links.${index}`, () =>
        createLinkIn(trx, { teamId: team.id, createdAt: now, ...link }),
      )
  }
}

async function seedContracts(
  { trx, at: now }: Seeding,
  team: TeamRow,
  seed: SeedTeam,
  path: string,
): Promise<void> {
  for (const [index, contract] of seed.contracts.entries()) {
    if (await findContractOfSymbol(trx, team.id, contract.symbol)) continue
    await at(`${path}.contracts.${index}`, () =>
      createContractIn(trx, team, { kind: 'phygital', ...contract }, now),
    )
  }
}

async function seedItems(
  { trx, at: now }: Seeding,
  team: TeamRow,
  seed: SeedTeam,
  path: string,
): Promise<void> {
  for (const [index, item] of seed.items.entries()) {
    if (await findItem(trx, team.id, item.id)) continue
    await at(`${path}.items.${index}`, () => createItemIn(trx, team.id, item, now))
  }
}
