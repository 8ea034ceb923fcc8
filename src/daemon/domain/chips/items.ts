import { getAddress } from 'viem/utils'
import { pagesOf } from '../../../values/time-slices.ts'
import { type ChipWithToken, chipsOfItem } from '../../store/chips/chips.ts'
import { findItem, type ItemsPage, type ItemWithContract, itemsPage } from '../../store/chips/items.ts'
import type { Db } from '../../store/database/database.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { invalid, notFound } from '../errors/errors.ts'
import { linkedToken } from './chip-record.ts'

export interface Media {
  mimeType: string
  url: string
}

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

/** Ordered by creation; contractAddress requires chainId. @throws DomainError invalid_input */
export function listItems(
  { db }: Deps,
  teamId: number,
  of: { contractAddress?: string | undefined; chainId?: number | undefined },
): AsyncGenerator<ItemView> {
  if (of.contractAddress !== undefined && of.chainId === undefined)
    throw invalid('chainId', 'is required with contractAddress')
  const contract =
    of.contractAddress === undefined
      ? undefined
      : { address: getAddress(of.contractAddress.toLowerCase()), chainId: of.chainId ?? 0 }
  return itemsInPages({ db }, { teamId, contract })
}

async function* itemsInPages(
  { db }: Deps,
  of: Pick<ItemsPage, 'teamId' | 'contract'>,
): AsyncGenerator<ItemView> {
  const page = (after: ItemWithContract | undefined, limit: number) =>
    itemsPage(db.read, { ...of, after, limit })
  // A single item may be a megabyte.
  for await (const item of pagesOf(page, { min: 1, max: 500 })) yield toView(item)
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
): Promise<AsyncGenerator<{ uid: string; token: TokenLocation | undefined }>> {
  await getItem(deps, teamId, id)
  return chipsOfItemInPages(deps, { teamId, itemId: id })
}

async function* chipsOfItemInPages({ db }: Deps, of: { teamId: number; itemId: string }) {
  const page = (after: ChipWithToken | undefined, limit: number) =>
    chipsOfItem(db.read, { ...of, after: after?.uid ?? '', limit })
  for await (const chip of pagesOf(page, { min: 50, max: 1000 }))
    yield { uid: chip.uid, token: linkedToken(chip) }
}

export function toView(item: ItemWithContract): ItemView {
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
    // Stored by this daemon after validation.
    media: JSON.parse(item.media),
    attributes: JSON.parse(item.attributes),
    variants: JSON.parse(item.variants),
  }
}
