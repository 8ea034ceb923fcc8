import { getAddress } from 'viem/utils'
import type { Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/owner-of.ts'
import { findChipRecord } from '../../store/chip-records.ts'
import { type TappedChip, updateChip } from '../../store/chips.ts'
import { findContract, updateContract } from '../../store/contracts.ts'
import type { Db, Queries } from '../../store/database.ts'
import { findItem, type ItemWithContract } from '../../store/items.ts'
import type { ContractRow } from '../../store/schema.ts'
import { ensureToken, findToken, findTokenAt, type LocatedToken } from '../../store/tokens.ts'
import { asked, chainOf } from '../ask-chain.ts'
import { DomainError, notFound } from '../errors.ts'
import { type Clock, iso } from '../time.ts'

type Deps = { db: Db; chains: Chains; clock: Clock }

/** A token that a chip will have once it is minted. */
export interface FutureToken {
  contract: ContractRow
  tokenId: string
}

/**
 * Says which token an unminted chip gets: the next id that nobody has, by the store and by the chain.
 * @throws DomainError conflict, chain_unavailable
 */
export async function futureTokenOf(deps: Deps, chip: TappedChip): Promise<FutureToken> {
  const item = chip.itemId === null ? undefined : await findItem(deps.db.read, chip.teamId, chip.itemId)
  const contract = item?.contractId == null ? undefined : await findContract(deps.db.read, item.contractId)
  if (!item) throw notFound('token')
  if (!contract)
    throw new DomainError('conflict', `The item "${item.name}" has no contract, so there is nothing to mint.`)
  const chain = chainOf(deps.chains, contract.chainId)
  const address = getAddress(contract.address)
  for (let id = nextId(contract); ; id += 1n) {
    const tokenId = String(id)
    const place = { contractAddress: contract.address, chainId: contract.chainId, tokenId }
    if (await findTokenAt(deps.db.read, place)) continue
    // Minted elsewhere, on a contract that was there before us.
    if ((await asked(chain, () => ownerOf(chain.client, address, id))) !== undefined) continue
    return { contract, tokenId }
  }
}

const nextId = ({ lastTokenId }: ContractRow): bigint => BigInt(lastTokenId ?? 0) + 1n

/**
 * Gives an unminted chip its token, with the metadata of its item. @returns undefined where another request was
 * quicker: the chip has one, or the id is taken
 */
export async function bindNewToken(
  trx: Queries,
  { clock }: { clock: Clock },
  uid: string,
  { contract, tokenId }: FutureToken,
): Promise<LocatedToken | undefined> {
  const chip = await findChipRecord(trx, uid)
  const place = { contractAddress: contract.address, chainId: contract.chainId, tokenId }
  if (!chip || chip.itemId === null || chip.tokenRow !== null || (await findTokenAt(trx, place)))
    return undefined
  const item = await findItem(trx, chip.teamId, chip.itemId)
  const metadata = JSON.stringify(item ? metadataOf(item, chip.variantId) : {})
  const createdAt = iso(clock.now())
  const row = await ensureToken(trx, { contractId: contract.id, tokenId, metadata, createdAt })
  await updateContract(trx, contract.id, { lastTokenId: tokenId })
  await updateChip(trx, uid, { tokenRow: row })
  return findToken(trx, row)
}

/** The metadata that a token of an item begins with. */
function metadataOf(item: ItemWithContract, variantId: string | null) {
  // Written by us from validated input, in these shapes.
  const media: { mimeType: string; url: string }[] = JSON.parse(item.media)
  const variants: { id: string; attributes: { name: string; value: string }[] }[] = JSON.parse(item.variants)
  const variant = variants.find(({ id }) => id === variantId)
  return {
    name: item.name,
    collection: item.contractName ?? '',
    description: item.description,
    image: item.imageUrl,
    attributes: (variant?.attributes ?? []).map(({ name, value }) => ({ trait_type: name, value })),
    media_gallery: media.map(({ mimeType, url }) => ({ media: url, type: mimeType })),
  }
}
