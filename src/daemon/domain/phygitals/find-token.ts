import { getAddress } from 'viem/utils'
import { chipsOfToken } from '../../store/chips/chips.ts'
import type { Db } from '../../store/database/database.ts'
import { findTokenAt, type LocatedToken, type TokenLocation } from '../../store/phygitals/tokens.ts'
import { notFound } from '../errors/errors.ts'

export type { TokenLocation }

/** A reference from a caller; the address in any case. */
export const asStored = (token: TokenLocation): TokenLocation => ({
  ...token,
  contractAddress: getAddress(token.contractAddress.toLowerCase()),
})

/** Copies only the location from a larger object. */
export const locationOf = ({ contractAddress, chainId, tokenId }: TokenLocation): TokenLocation => ({
  contractAddress,
  chainId,
  tokenId,
})

/** Finds the token of any team. @throws DomainError not_found */
export async function tokenAt({ db }: { db: Pick<Db, 'read'> }, ref: TokenLocation): Promise<LocatedToken> {
  const token = await findTokenAt(db.read, asStored(ref))
  if (!token) throw notFound('token')
  return token
}

/** @throws DomainError not_found */
export async function tokenOfTeam(
  deps: { db: Pick<Db, 'read'> },
  teamId: number,
  ref: TokenLocation,
): Promise<LocatedToken> {
  const token = await tokenAt(deps, ref)
  if (token.teamId !== teamId) throw notFound('token')
  return token
}

/** The UID of a token's chip, preferring enabled ones. @throws DomainError not_found */
export async function chipOfToken(deps: { db: Pick<Db, 'read'> }, ref: TokenLocation): Promise<string> {
  const token = await tokenAt(deps, ref)
  const chips = await chipsOfToken(deps.db.read, token.id)
  const chip = chips.find(({ disabledAt }) => disabledAt === null) ?? chips[0]
  if (!chip) throw notFound('chip')
  return chip.uid
}
