import type { Address } from 'viem'
import { getAddress } from 'viem/utils'
import type { Chain, Chains } from '../../chain/chains.ts'
import { ownerOf } from '../../chain/contract-state.ts'
import { findChipRecord } from '../../store/chips/chip-records.ts'
import { type TappedChip, updateChip } from '../../store/chips/chips.ts'
import { findItem, type ItemWithContract } from '../../store/chips/items.ts'
import { findContract, updateContract } from '../../store/contracts/contracts.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import {
  ensureToken,
  findToken,
  findTokenAt,
  freeTokenId,
  type LocatedToken,
} from '../../store/phygitals/tokens.ts'
import type { ContractRow } from '../../store/schema/schema.ts'
import { chainOf, readChain } from '../chain/read-chain.ts'
import { conflict, notFound } from '../errors/errors.ts'
import { type BudgetClock, iso } from '../time/time.ts'

type Deps = { db: Db; chains: Chains; clock: BudgetClock }

/** The token that an unminted chip will get. */
export interface FutureToken {
  contract: ContractRow
  tokenId: string
}

/** The contract of an unminted chip's token. @throws DomainError not_found, conflict */
export async function futureContractOf(
  { db }: { db: Pick<Db, 'read'> },
  chip: TappedChip,
): Promise<ContractRow> {
  const item = chip.itemId === null ? undefined : await findItem(db.read, chip.teamId, chip.itemId)
  const contract = item?.contractId == null ? undefined : await findContract(db.read, item.contractId)
  if (!item) throw notFound('token')
  if (contract) return contract
  throw conflict(`The item "${item.name}" has no contract, so there is nothing to mint.`)
}

/** Steps double, so that 20 attempts pass a million tokens minted elsewhere. */
const maxAttemptsToFind = 20

/** The next ID that is free in the store and on the chain. @throws DomainError conflict, chain_unavailable */
export async function futureTokenOf(deps: Deps, contract: ContractRow): Promise<FutureToken> {
  const chain = chainOf(deps.chains, contract.chainId)
  const address = getAddress(contract.address)
  let after = BigInt(contract.lastTokenId ?? 0)
  for (let attempt = 0; attempt < maxAttemptsToFind; attempt += 1) {
    const tokenId = await freeTokenId(deps.db.read, contract.id, after)
    // The store knows all tokens of our own contracts.
    if (contract.transactionId !== null) return { contract, tokenId }
    if (await isFreeOnChain(chain, address, tokenId)) return { contract, tokenId }
    after = BigInt(tokenId) + 2n ** BigInt(attempt) - 1n
  }
  throw conflict(
    `No free token ID was found on the contract ${contract.address}: all that were tried, up to ${after}, have owners. Link the chip to a token yourself (tapchip chips link).`,
  )
}

const isFreeOnChain = async (chain: Chain, address: Address, tokenId: string): Promise<boolean> =>
  (await readChain(chain, () => ownerOf(chain.client, address, BigInt(tokenId)))) === undefined

/**
 * On our own contracts, takes the currently next ID unless `isFixed`. @returns undefined if another request was
 * faster
 */
export async function bindNewToken(
  trx: Queries,
  { clock }: { clock: BudgetClock },
  uid: string,
  future: FutureToken,
  isFixed: boolean,
): Promise<LocatedToken | undefined> {
  const chip = await findChipRecord(trx, uid)
  const contract = await findContract(trx, future.contract.id)
  if (!chip || chip.itemId === null || chip.tokenRow !== null || !contract) return undefined
  const isFree = !isFixed && contract.transactionId !== null
  const tokenId = isFree
    ? await freeTokenId(trx, contract.id, BigInt(contract.lastTokenId ?? 0))
    : future.tokenId
  const location = { contractAddress: contract.address, chainId: contract.chainId, tokenId }
  if (!isFree && (await findTokenAt(trx, location))) return undefined
  const item = await findItem(trx, chip.teamId, chip.itemId)
  const metadata = JSON.stringify(item ? metadataOf(item, chip.variantId) : {})
  const createdAt = iso(clock.now())
  const row = await ensureToken(trx, { contractId: contract.id, tokenId, metadata, createdAt })
  await updateContract(trx, contract.id, { lastTokenId: tokenId })
  await updateChip(trx, uid, { tokenRow: row })
  return findToken(trx, row)
}

/** A new token's initial metadata. */
function metadataOf(item: ItemWithContract, variantId: string | null) {
  // Stored by this daemon from validated input, in these shapes.
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
