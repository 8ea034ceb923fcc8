import { findChip, type TappedChip } from '../../store/chips/chips.ts'
import type { Db } from '../../store/database/database.ts'
import type { LocatedToken, TokenLocation } from '../../store/phygitals/tokens.ts'
import { conflict, notFound } from '../errors/errors.ts'
import { locationOf, tokenOfTeam } from './target.ts'

/** A reference to a token, directly or by its chip. */
export type RowTarget = { uid: string } | TokenLocation

/** `tokenId` is null if the token has not been minted yet. */
export type CurrentToken = Omit<TokenLocation, 'tokenId'> & { tokenId: string | null }

export const isChip = (target: RowTarget): target is { uid: string } => 'uid' in target

/** Copies only the reference. */
export const targetOfRow = (row: RowTarget): RowTarget => (isChip(row) ? { uid: row.uid } : locationOf(row))

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

/** @throws DomainError not_found, conflict if the chip has no token */
export async function tokenOfRow(
  deps: { db: Pick<Db, 'read'> },
  teamId: number,
  target: RowTarget,
): Promise<LocatedToken> {
  if (!isChip(target)) return tokenOfTeam(deps, teamId, target)
  const { linkedAddress, linkedChainId, linkedTokenId } = await chipOfTeam(deps, teamId, target.uid)
  if (linkedAddress === null || linkedChainId === null || linkedTokenId === null)
    throw conflict('This chip has no token yet. Link it to one, or transfer it first.')
  const location = { contractAddress: linkedAddress, chainId: linkedChainId, tokenId: linkedTokenId }
  return tokenOfTeam(deps, teamId, location)
}

/** Yields results in order; a job that throws ends the iteration, but jobs already started complete. */
export async function* mapConcurrently<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  job: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const begun: Promise<{ result: R } | { error: unknown }>[] = []
  const first = async (): Promise<R> => {
    const ended = await begun.shift()
    if (ended === undefined) throw new Error('none was begun')
    if ('error' in ended) throw ended.error
    return ended.result
  }
  for await (const item of items) {
    begun.push(
      job(item).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      ),
    )
    if (begun.length >= concurrency) yield await first()
  }
  while (begun.length > 0) yield await first()
}
