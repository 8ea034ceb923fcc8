import type { Db, Queries } from '../../store/database.ts'
import { type FoundOtp, findOtp, takeOtp } from '../../store/otps.ts'
import type { OtpRow } from '../../store/schema.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import { isCode } from './codes.ts'

type Deps = { db: Pick<Db, 'read'>; clock: Clock }

const tapAgain = 'Tap the chip again for a new one.'
const meantFor: Record<OtpRow['type'], string> = {
  PHYGITAL_CLAIM: 'claims a token',
  POAP_EVENT: 'mints a badge',
  GUESTBOOK_EVENT: 'signs a guestbook',
}

/**
 * Looks at a code that is to be used, without using it.
 * @throws DomainError otp_unknown, otp_deleted, otp_used, otp_expired, otp_unsupported
 */
export async function presentCode({ db, clock }: Deps, code: string, type: OtpRow['type']): Promise<OtpRow> {
  const otp = isCode(code) ? await findOtp(db.read, code) : undefined
  assertGood(otp, iso(clock.now()))
  if (otp.type !== type)
    throw new DomainError(
      'otp_unsupported',
      `This code ${meantFor[otp.type]}; here a code is needed that ${meantFor[type]}. It is still good.`,
    )
  return otp
}

/**
 * Uses a code up, in the write that records what it authorises: of any number at once, one alone.
 * @throws DomainError of why it is not good, which undoes the write
 */
export async function spendCode(trx: Queries, code: string, now: string): Promise<void> {
  if (await takeOtp(trx, code, now)) return
  assertGood(await findOtp(trx, code), now)
  throw new Error('a code that is good could not be taken')
}

function assertGood(otp: FoundOtp | undefined, now: string): asserts otp is FoundOtp {
  if (!otp) throw new DomainError('otp_unknown', `There is no such code. ${tapAgain}`)
  if (otp.deletedAt !== null) throw new DomainError('otp_deleted', `This code was deleted. ${tapAgain}`)
  if (otp.usedAt !== null) throw new DomainError('otp_used', `This code was used already. ${tapAgain}`)
  if (otp.isEnded || otp.expiresAt <= now)
    throw new DomainError('otp_expired', `This code has expired. ${tapAgain}`)
}
