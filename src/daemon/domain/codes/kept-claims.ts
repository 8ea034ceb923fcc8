import type { Queries } from '../../store/database/database.ts'
import { isClaimKept, settleKept } from '../../store/reservations/reservations.ts'
import type { CodeSubject } from '../../store/taps/codes.ts'
import { DomainError } from '../errors/errors.ts'

/** A claim that is kept for somebody can be made by the link mailed to them only. @throws DomainError claim_kept */
export async function assertNotKept(
  db: Queries,
  {
    type,
    isKept,
    chipUid: uid,
    tokenRow,
  }: { type: CodeSubject['type']; isKept: boolean; chipUid: string; tokenRow: number | null },
  now: string,
): Promise<void> {
  if (type !== 'PHYGITAL_CLAIM' || isKept || !(await isClaimKept(db, { uid, tokenRow, now }))) return
  throw new DomainError(
    'claim_kept',
    'Somebody keeps this token by e-mail until they name a wallet. The code is still good. The team can release it: tapchip reservations release.',
  )
}

/** Something kept goes to a wallet. @throws DomainError otp_expired if it was released at the same moment */
export async function settleIfKept(
  trx: Queries,
  { type, isKept, tapId }: { type: CodeSubject['type']; isKept: boolean; tapId: number },
  now: string,
): Promise<void> {
  if (!isKept || (await settleKept(trx, { tapId, isClaim: type === 'PHYGITAL_CLAIM', now }))) return
  throw new DomainError('otp_expired', 'It is no longer kept. Tap the chip again for a new one.')
}
