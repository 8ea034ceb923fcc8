import type { Chains } from '../../chain/chains.ts'
import { findChip, type TappedChip } from '../../store/chips.ts'
import type { Db, Queries } from '../../store/database.ts'
import type { OtpRow } from '../../store/schema.ts'
import { findToken, type LocatedToken } from '../../store/tokens.ts'
import { DomainError, notFound } from '../errors.ts'
import type { Names } from '../recipients.ts'
import type { Clock } from '../time.ts'
import { bindNewToken, type FutureToken, futureTokenOf } from './mint-token.ts'

export type TransferDeps = { db: Db; clock: Clock; chains: Chains; names: Names }

/** The token of a chip, or the one that it will have. */
export type Target = { token: LocatedToken } | { future: FutureToken; uid: string }

/** @throws DomainError not_found, conflict, chain_unavailable */
export async function targetOf(
  deps: Pick<TransferDeps, 'db' | 'chains' | 'clock'>,
  chip: TappedChip,
): Promise<Target> {
  const token = chip.tokenRow === null ? undefined : await findToken(deps.db.read, chip.tokenRow)
  return token ? { token } : { future: await futureTokenOf(deps, chip), uid: chip.uid }
}

export const placeOf = (target: Target) =>
  'token' in target
    ? target.token
    : {
        contractAddress: target.future.contract.address,
        chainId: target.future.contract.chainId,
        tokenId: target.future.tokenId,
        contractStatus: target.future.contract.status,
        contractTransactionId: target.future.contract.transactionId,
      }

/** In the write: the token as it is now. @throws DomainError conflict where another request was quicker */
export async function settleTarget(
  trx: Queries,
  deps: { clock: Clock },
  target: Target,
): Promise<LocatedToken> {
  const token =
    'token' in target
      ? await findToken(trx, target.token.id)
      : await bindNewToken(trx, deps, target.uid, target.future)
  if (token) return token
  throw new DomainError(
    'conflict',
    'Another request minted for this chip, or took the token id, at the same moment. Nothing was used up; try again.',
  )
}

/** The chip of a code, carrying what the code is for. */
export async function chipOfCode(db: Pick<Db, 'read'>, otp: OtpRow): Promise<TappedChip> {
  const chip = await findChip(db.read, otp.chipUid)
  if (!chip) throw notFound('chip')
  return { ...chip, tokenRow: otp.tokenRow ?? chip.tokenRow }
}
