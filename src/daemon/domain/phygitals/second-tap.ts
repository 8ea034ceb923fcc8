import { findClaimRegistration } from '../../store/claim-registrations.ts'
import type { Queries } from '../../store/database.ts'
import type { OtpRow } from '../../store/schema.ts'
import type { LocatedToken } from '../../store/tokens.ts'
import { DomainError } from '../errors.ts'

/**
 * Holds a code to its contract's policy: where a second tap is asked for, the recipient registered before, with
 * another tap, and neither too recently nor too long ago. Called in the write, so what it says counts.
 * @throws DomainError registration_missing, registration_same_tap, registration_early, registration_expired
 */
export async function assertSecondTap(
  trx: Queries,
  { token, recipient, otp, now }: { token: LocatedToken; recipient: string; otp: OtpRow; now: string },
): Promise<void> {
  if (token.twoTapDelaySeconds === null) return
  const row = await findClaimRegistration(trx, { tokenRow: token.id, recipient })
  const stillGood = 'This code is still good.'
  if (!row)
    throw new DomainError(
      'registration_missing',
      `This token asks for two taps: register ${recipient} with this code first (POST /phygitals/claim-registration/pullable), then tap again. ${stillGood}`,
    )
  if (now >= row.expiresAt)
    throw new DomainError(
      'registration_expired',
      `The registration of ${recipient} expired at ${row.expiresAt}. Register again, then tap again. ${stillGood}`,
    )
  if (row.tapId !== null && otp.tapId <= row.tapId)
    throw new DomainError(
      'registration_same_tap',
      `This code is of the tap that registered ${recipient}, or of an earlier one. Tap the chip again for the second code. ${stillGood}`,
    )
  if (now < row.allowedAt)
    throw new DomainError(
      'registration_early',
      `The registration of ${recipient} counts from ${row.allowedAt} on. Wait until then. ${stillGood}`,
    )
}
