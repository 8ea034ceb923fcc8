import { getAddress } from 'viem/utils'
import type { Chains } from '../../chain/chains.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findContractAt } from '../../store/contracts.ts'
import type { Db, Queries } from '../../store/database.ts'
import { findEventAt } from '../../store/guestbook-events.ts'
import { askForRefresh } from '../../store/marketplace-refreshes.ts'
import {
  describeTokenOnce,
  findTokenAt,
  type LocatedToken,
  setTokenMetadata,
  type TokenLocation,
} from '../../store/tokens.ts'
import { notFound } from '../errors.ts'
import { type BudgetClock, iso } from '../time.ts'
import { announce } from './announce.ts'
import { asStored, tokenOfTeam } from './find-token.ts'

type Deps = { db: Db; clock: BudgetClock; chains: Chains; marketplace: object | undefined }

/**
 * Replaces a token's metadata, announces that on the chain (ERC-4906), and has marketplaces told. Neither of the two
 * is waited for: both go out by themselves, also after a restart. @throws DomainError not_found
 */
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

/** A step of a larger write: gives a token the owner (in any case) and the metadata that it lacks; what is there stays. */
export const describeTokenIn = (
  trx: Queries,
  { owner, ...token }: Parameters<typeof describeTokenOnce>[1],
): Promise<void> => describeTokenOnce(trx, { ...token, owner: owner && getAddress(owner.toLowerCase()) })

/** The inner step, without the announcement: that is made for many tokens at once. */
export async function writeMetadata(
  trx: Queries,
  { marketplace }: Pick<Deps, 'marketplace'>,
  { token, metadata, actor, now }: { token: LocatedToken; metadata: object; actor: Actor; now: number },
): Promise<void> {
  const { contractAddress, chainId, tokenId, teamId } = token
  const at = iso(now)
  await setTokenMetadata(trx, token.id, JSON.stringify(metadata))
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

/** What `tokenURI` and `uri` lead to: the metadata of a token, JSON. @throws DomainError not_found */
export async function metadataAt({ db }: { db: Pick<Db, 'read'> }, ref: TokenLocation): Promise<string> {
  const place = asStored(ref)
  const token = await findTokenAt(db.read, place)
  if (token) return token.metadata ?? '{}'
  const event = await findEventAt(db.read, place)
  if (event) return event.metadata
  throw notFound('token')
}

/** ERC-7572: a collection's own metadata. @throws DomainError not_found */
export async function contractMetadata(
  { db }: { db: Pick<Db, 'read'> },
  { chainId, contractAddress }: Pick<TokenLocation, 'chainId' | 'contractAddress'>,
): Promise<{ name: string; symbol: string }> {
  const { contractAddress: address } = asStored({ contractAddress, chainId, tokenId: '' })
  const contract = await findContractAt(db.read, chainId, address)
  if (!contract) throw notFound('contract')
  return { name: contract.name, symbol: contract.symbol }
}
