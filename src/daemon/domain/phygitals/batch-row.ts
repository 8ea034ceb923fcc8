import { findChip, type TappedChip } from '../../store/chips.ts'
import type { Db } from '../../store/database.ts'
import type { LocatedToken, TokenLocation } from '../../store/tokens.ts'
import { DomainError, notFound } from '../errors.ts'
import { tokenOfTeam } from './find-token.ts'

/** What a row of a batch is about: a token, or whichever token a chip carries. */
export type RowTarget = { uid: string } | TokenLocation

export const isChip = (target: RowTarget): target is { uid: string } => 'uid' in target

/** @throws DomainError not_found */
export async function chipOfTeam(
  { db }: { db: Pick<Db, 'read'> },
  teamId: number,
  uid: string,
): Promise<TappedChip> {
  const chip = await findChip(db.read, uid)
  if (!chip || chip.teamId !== teamId) throw notFound('chip')
  return chip
}

/** The token that there is already. @throws DomainError not_found, conflict where the chip has none */
export async function tokenOfRow(
  deps: { db: Pick<Db, 'read'> },
  teamId: number,
  target: RowTarget,
): Promise<LocatedToken> {
  if (!isChip(target)) return tokenOfTeam(deps, teamId, target)
  const { linkedAddress, linkedChainId, linkedTokenId } = await chipOfTeam(deps, teamId, target.uid)
  if (linkedAddress === null || linkedChainId === null || linkedTokenId === null)
    throw new DomainError('conflict', 'This chip has no token yet. Link it to one, or transfer it first.')
  const place = { contractAddress: linkedAddress, chainId: linkedChainId, tokenId: linkedTokenId }
  return tokenOfTeam(deps, teamId, place)
}
