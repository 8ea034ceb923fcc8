import { getAddress } from 'viem/utils'
import { chipsOfItem } from '../store/chips.ts'
import type { Db } from '../store/database.ts'
import { findItem, type ItemWithContract, itemsOfTeam } from '../store/items.ts'
import type { TokenLocation } from '../store/tokens.ts'
import { linkedToken } from './carried.ts'
import { invalid, notFound } from './errors.ts'

export interface Media {
  mimeType: string
  url: string
}

/** An item, opened. */
export interface ItemView {
  id: string
  name: string
  description: string
  imageUrl: string
  contract: { name: string; symbol: string; address: string; chainId: number } | null
  media: Media[]
  attributes: { name: string; values: string[] }[]
  variants: { id: string; attributes: { name: string; value: string }[] }[]
}

type Deps = { db: Pick<Db, 'read'> }

/** @param of items of one contract; the chain is needed with an address */
export async function listItems(
  { db }: Deps,
  teamId: number,
  of: { contractAddress?: string | undefined; chainId?: number | undefined },
): Promise<ItemView[]> {
  if (of.contractAddress === undefined) return (await itemsOfTeam(db.read, teamId)).map(toView)
  if (of.chainId === undefined) throw invalid('chainId', 'is required with contractAddress')
  const contract = { address: getAddress(of.contractAddress.toLowerCase()), chainId: of.chainId }
  return (await itemsOfTeam(db.read, teamId, contract)).map(toView)
}

/** @throws DomainError not_found */
export async function getItem({ db }: Deps, teamId: number, id: string): Promise<ItemView> {
  const item = await findItem(db.read, teamId, id)
  if (!item) throw notFound('item')
  return toView(item)
}

/** @throws DomainError not_found */
export async function chipsOf(
  deps: Deps,
  teamId: number,
  id: string,
): Promise<{ uid: string; token: TokenLocation | undefined }[]> {
  await getItem(deps, teamId, id)
  const chips = await chipsOfItem(deps.db.read, teamId, id)
  return chips.map((chip) => ({ uid: chip.uid, token: linkedToken(chip) }))
}

function toView(item: ItemWithContract): ItemView {
  const { id, name, description, imageUrl, contractName, contractSymbol, contractAddress, chainId } = item
  const hasContract =
    contractName !== null && contractSymbol !== null && contractAddress !== null && chainId !== null
  return {
    id,
    name,
    description,
    imageUrl,
    contract: hasContract
      ? { name: contractName, symbol: contractSymbol, address: contractAddress, chainId }
      : null,
    // Written by us from validated input, in these shapes.
    media: JSON.parse(item.media),
    attributes: JSON.parse(item.attributes),
    variants: JSON.parse(item.variants),
  }
}
