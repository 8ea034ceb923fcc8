import type { TapSource } from '../../../values/tap-outcomes.ts'
import type { TokenLocation } from '../../store/phygitals/tokens.ts'
import { storedCodes } from '../../store/taps/codes.ts'
import { assetsOf, type ChipAssets, linkedToken } from '../chips/chip-record.ts'
import { firstSubject, type OtpDeps } from '../codes/otps.ts'
import { DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { refusedStranger, unfilledIn, whyRefused } from './explain-tap.ts'
import { type TakeTapDeps, takeTap } from './take-tap.ts'
import type { TapQuery } from './verify-tap.ts'

export interface FoundChip {
  uid: string
  isValidTap: boolean
  token: TokenLocation | undefined
  otp: { code: string; expiresAt: string } | undefined
  badgeEvent: ChipAssets['badgeEvents'][number] | undefined
}

/**
 * Uses up the tap. @param via `setup`: by whoever sets chips up
 * @throws DomainError tap_malformed, not_found (unknown key set or chip)
 */
export async function findChipByTap(
  deps: TakeTapDeps & OtpDeps,
  query: TapQuery,
  via: Exclude<TapSource, 'page'> = 'find',
): Promise<FoundChip> {
  const judged = await takeTap(deps, query, via, async (chip, now) => {
    const { read } = deps.db
    const carried = await assetsOf(read, chip, iso(now))
    const subject = firstSubject(carried, chip)
    const until = iso(now + deps.otpLifetime)
    const codes = subject && { codes: storedCodes({ by: 'find', until, subjects: [subject] }) }
    return { ...codes, events: chip.events, result: { carried, expiresAt: codes && until } }
  })
  switch (judged.kind) {
    case 'malformed':
      throw new DomainError('tap_malformed', `${judged.field} ${judged.reason}`, {
        errors: { [judged.field]: judged.reason },
      })
    case 'unknown':
      throw new DomainError('not_found', whyRefused(deps.keyRing, query, judged), {
        forStrangers: unfilledIn(deps.keyRing, query) ?? refusedStranger,
      })
    case 'forged':
    case 'disabled':
      return {
        uid: judged.chip.uid,
        isValidTap: false,
        token: undefined,
        otp: undefined,
        badgeEvent: undefined,
      }
    case 'caught-up':
    case 'replayed': {
      const token = judged.chip.disabledAt === null ? linkedToken(judged.chip) : undefined
      return { uid: judged.chip.uid, isValidTap: false, token, otp: undefined, badgeEvent: undefined }
    }
    case 'taken': {
      const { carried, expiresAt } = judged.result
      const otp = expiresAt === undefined ? undefined : { code: deps.seals.code(judged.tap, 0), expiresAt }
      return {
        uid: judged.chip.uid,
        isValidTap: true,
        token: carried.token,
        otp,
        badgeEvent: carried.badgeEvents[0],
      }
    }
  }
}
