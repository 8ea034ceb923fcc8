import { getAddress } from 'viem/utils'
import { stringifyExact } from '../../../values/json.ts'
import type { Chains } from '../../chain/chains.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { askForRefresh } from '../../store/chain/announcements.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import {
  describeTokenOnce,
  type LocatedToken,
  setTokenMetadata,
  type TokenLocation,
} from '../../store/phygitals/tokens.ts'
import { announceTokens } from '../chain/announcements.ts'
import { isServed } from '../chain/read-chain.ts'
import { type BudgetClock, iso } from '../time/time.ts'
import { tokenOfTeam } from './target.ts'

type Deps = { db: Db; clock: BudgetClock; chains: Chains; marketplace: object | undefined }

/** Queues announcements (ERC-4906, marketplaces), which survive a restart. @throws DomainError not_found */
export async function replaceMetadata(
  deps: Deps,
  { teamId, actor }: { teamId: number; actor: Actor },
  ref: TokenLocation,
  metadata: object,
): Promise<void> {
  const token = await tokenOfTeam(deps, teamId, ref)
  const now = deps.clock.now()
  await deps.db.write(async (trx) => {
    await writeMetadata(trx, deps, { token, metadata, actor, now })
    await announce(trx, deps, [token])
  })
  deps.chains.relayer.wake()
}

/** A step of a larger write: sets a token's missing owner (in any case) and metadata; existing values stay. */
export const describeTokenIn = (
  trx: Queries,
  { owner, ...token }: Parameters<typeof describeTokenOnce>[1],
): Promise<void> => describeTokenOnce(trx, { ...token, owner: owner && getAddress(owner.toLowerCase()) })

/** The same step without the announcement, which is made for many tokens at once. */
export async function writeMetadata(
  trx: Queries,
  { marketplace }: Pick<Deps, 'marketplace'>,
  {
    token,
    metadata,
    actor,
    now,
  }: { token: LocatedToken; metadata: object | null; actor: Actor; now: number },
): Promise<void> {
  const { contractAddress, chainId, tokenId, teamId } = token
  const at = iso(now)
  await setTokenMetadata(trx, token.id, metadata && stringifyExact(metadata))
  if (marketplace) await askForRefresh(trx, { chainId, contract: contractAddress, tokenId, at })
  await recordChange(trx, {
    at,
    actor,
    teamId,
    action: 'phygitals.metadata',
    target: `${contractAddress}/${tokenId}`,
    detail: { chainId },
  })
}

/** A contract deployed elsewhere may lack the function; marketplaces are still told. @throws as isServed */
export const isAnnounced = (
  { chains }: { chains: Pick<Chains, 'has' | 'get'> },
  { contractTransactionId, chainId }: Pick<LocatedToken, 'contractTransactionId' | 'chainId'>,
): boolean => contractTransactionId !== null && isServed(chains, chainId)

export function byContract<T extends Pick<LocatedToken, 'contractId'>>(tokens: readonly T[]): T[][] {
  const groups = new Map<number, T[]>()
  for (const token of tokens) {
    const group = groups.get(token.contractId)
    if (group) group.push(token)
    else groups.set(token.contractId, [token])
  }
  return [...groups.values()]
}

/** Records announcements of changed metadata: one transaction per contract. */
export async function announce(
  trx: Queries,
  deps: { chains: Pick<Chains, 'has' | 'get'>; clock: BudgetClock },
  tokens: readonly LocatedToken[],
): Promise<void> {
  for (const group of byContract(tokens.filter((token) => isAnnounced(deps, token)))) {
    const [first] = group
    if (!first) continue
    const { contractId, contractAddress: address, chainId, teamId } = first
    const tokenIds = group.map((token) => token.tokenId)
    await announceTokens(trx, deps, { contractId, kind: 'phygital', address, chainId, teamId, tokenIds })
  }
}
