import { getAddress } from 'viem/utils'
import { stringifyExact } from '../../../values/json.ts'
import { emptyMetadata } from '../../../values/token.ts'
import { findContractAt } from '../../store/contracts/contracts.ts'
import type { Db } from '../../store/database/database.ts'
import { findEventAt } from '../../store/guestbook/guestbook-events.ts'
import { findTokenAt, type TokenLocation } from '../../store/phygitals/tokens.ts'
import { notFound } from '../errors/errors.ts'

type Deps = { db: Pick<Db, 'read'> }

/** The target of `tokenURI` and `uri`: the JSON of a token or guestbook event. @throws DomainError not_found */
export async function metadataAt({ db }: Deps, ref: TokenLocation): Promise<string> {
  const location = { ...ref, contractAddress: checksummed(ref.contractAddress) }
  const token = await findTokenAt(db.read, location)
  if (token) return token.metadata ?? stringifyExact(emptyMetadata)
  const event = await findEventAt(db.read, location)
  if (event) return event.metadata
  throw notFound('token')
}

/** ERC-7572: a collection's own metadata. @throws DomainError not_found */
export async function contractMetadata(
  { db }: Deps,
  { chainId, contractAddress }: Pick<TokenLocation, 'chainId' | 'contractAddress'>,
): Promise<object> {
  const contract = await findContractAt(db.read, chainId, checksummed(contractAddress))
  if (!contract) throw notFound('contract')
  const { name, symbol, description, image, banner, externalLink } = contract
  const fields = {
    name,
    symbol,
    description,
    image,
    banner_image: banner,
    // OpenSea's, in wide cards.
    featured_image: banner,
    external_link: externalLink,
    // What is read where ERC-2981 is not.
    seller_fee_basis_points: contract.royaltyBasisPoints,
    fee_recipient: contract.royaltyReceiver,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

const checksummed = (address: string): string => getAddress(address.toLowerCase())
