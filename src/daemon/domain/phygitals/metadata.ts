import { encodeFunctionData } from 'viem'
import { getAddress } from 'viem/utils'
import { phygitalAbi } from '../../chain/artifacts/phygital.ts'
import type { Chains } from '../../chain/chains.ts'
import { recordIntent } from '../../chain/relayer/record-intent.ts'
import { type Actor, recordChange } from '../../store/audit.ts'
import { findContractAt } from '../../store/contracts.ts'
import type { Db, Queries } from '../../store/database.ts'
import { findEventAt } from '../../store/guestbook-events.ts'
import { askForRefresh } from '../../store/marketplace-refreshes.ts'
import { findTokenAt, type LocatedToken, setTokenMetadata, type TokenLocation } from '../../store/tokens.ts'
import { notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { asStored, tokenOfTeam } from './find-token.ts'

type Deps = { db: Db; clock: Clock; chains: Chains; marketplace: object | undefined }

/** Announcing changed metadata takes 25,000. */
const announceGas = 60_000

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
  const { contractAddress, chainId, tokenId } = token
  const now = deps.clock.now()
  const at = iso(now)
  await deps.db.write(async (trx) => {
    await setTokenMetadata(trx, token.id, JSON.stringify(metadata))
    await announce(trx, deps, token, now)
    if (deps.marketplace) await askForRefresh(trx, { chainId, contract: contractAddress, tokenId, at })
    await recordChange(trx, {
      at,
      actor,
      teamId,
      action: 'phygitals.metadata',
      target: `${contractAddress}/${tokenId}`,
      detail: { chainId },
    })
  })
  deps.chains.relayer.wake()
}

/** A contract that was deployed elsewhere may have no such function; marketplaces are told about it all the same. */
async function announce(
  trx: Queries,
  { chains }: Pick<Deps, 'chains'>,
  token: LocatedToken,
  now: number,
): Promise<void> {
  const { contractAddress, chainId, tokenId, teamId, contractTransactionId } = token
  if (contractTransactionId === null || !chains.has(chainId)) return
  const args = [BigInt(tokenId)] as const
  await recordIntent(trx, {
    chainId,
    signer: 'relayer',
    deed: {
      to: getAddress(contractAddress),
      data: encodeFunctionData({ abi: phygitalAbi, functionName: 'refreshMetadata', args }),
    },
    gasHint: announceGas,
    kind: 'phygital-refresh',
    subject: { contractAddress, chainId, tokenId },
    teamId,
    now,
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
