import { haloUid } from '../../nfc/halo/tap.ts'
import { parseHaloPublicKey } from '../../values/halo-public-key.ts'
import { ensureChipGroupIn } from '../domain/chips/chip-groups.ts'
import { teamOfChip } from '../domain/chips/named-chips.ts'
import { registerChipsIn } from '../domain/chips/register-chips.ts'
import { describeTokenIn } from '../domain/phygitals/metadata.ts'
import type { SeedChip, SeedTeam } from './schema.ts'
import { SeedProblem, type TeamSeedContext } from './seeding.ts'

export async function seedChipGroups(seeding: TeamSeedContext, seed: SeedTeam, path: string): Promise<void> {
  const { trx, at, team } = seeding
  for (const [index, { name, chips }] of seed.chipGroups.entries()) {
    const group = await ensureChipGroupIn(trx, { teamId: team.id, name, at })
    for (const [number, chip] of chips.entries())
      await seedChip(seeding, group.id, chip, `${path}.chipGroups.${index}.chips.${number}`)
  }
}

async function seedChip(
  { trx, ctx, at, team, contracts }: TeamSeedContext,
  chipGroupId: number,
  chip: SeedChip,
  path: string,
): Promise<void> {
  const fail = (reason: string) => new SeedProblem(`The seed is invalid: ${path}: ${reason}`)
  const owner = await teamOfChip(trx, uidOf(chip, fail))
  if (owner !== undefined && owner !== team.id) throw fail('the chip belongs to another team')
  if (owner !== undefined) return
  const { token, family: _, keySet = null, redirectUrl, ...values } = chip
  if (keySet !== null && !ctx.keyRing.get(keySet)) throw fail(`keySet: there is no key set ${keySet}`)
  const contract = token && contracts.get(token.contract)
  if (token && contract?.kind !== 'phygital')
    throw fail(`token.contract: the team has no token contract ${token.contract}`)
  const [result] = await registerChipsIn(
    trx,
    ctx,
    { teamId: team.id, chipGroupId, keySetId: keySet, isSimulated: false, mayBind: true, at },
    [
      {
        ...values,
        redirectUrl: redirectUrl ?? undefined,
        token: token &&
          contract && {
            contractAddress: contract.address,
            chainId: contract.chainId,
            tokenId: token.tokenId,
          },
      },
    ],
  )
  if (result?.status === 'failed') throw fail(result.error)
  if (token?.owner !== undefined && contract?.status === 'confirmed' && contract.transactionId === null)
    ctx.log.warn(
      { path, symbol: contract.symbol, address: contract.address, chainId: contract.chainId },
      `token ${token.tokenId} of ${contract.symbol} is not minted: the contract was not deployed from here, so only the chain determines its tokens' owners. Remove the owner from the seed, or transfer the token: tapchip phygitals transfer`,
    )
  if (token && contract) await describeTokenIn(trx, { ...token, contractId: contract.id })
}

function uidOf(chip: SeedChip, fail: (reason: string) => SeedProblem): string {
  if (chip.uid !== undefined) return chip.uid
  const publicKey = chip.family === 'halo' ? parseHaloPublicKey(chip.publicKey ?? '') : undefined
  if (chip.family === 'halo' && !publicKey)
    throw fail('publicKey: must be an uncompressed public key, 130 hex digits')
  if (!publicKey) throw fail('uid: Required')
  return haloUid(publicKey)
}
