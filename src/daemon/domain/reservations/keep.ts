import type { Chains } from '../../chain/chains.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { countCodeOut } from '../../store/badge-events/badge-events.ts'
import { holdChip } from '../../store/chips/chip-records.ts'
import { findChip } from '../../store/chips/chips.ts'
import { findToken, type LocatedToken } from '../../store/phygitals/tokens.ts'
import { holdBadge } from '../../store/reservations/kept-badges.ts'
import { queueMail } from '../../store/reservations/mails.ts'
import { countTry, findReservation, keepReservation } from '../../store/reservations/reservations.ts'
import { type CodeSubject, storedCodes } from '../../store/taps/codes.ts'
import { addCodes, type TapOfChip } from '../../store/taps/recorded-taps.ts'
import { findOtp, spendCode } from '../codes/otps.ts'
import type { Seals } from '../codes/seals.ts'
import { DomainError } from '../errors/errors.ts'
import { iso } from '../time/time.ts'
import { type AskDeps, newMail } from './ask.ts'
import { holderOf } from './holder.ts'
import { keptUntil } from './keep-until.ts'
import { isCode, linkHashOf, linkOf, maxTries, newNonce } from './secrets.ts'

export interface KeepDeps extends AskDeps {
  seals: Seals
  chains: Chains
  config: { keepTapsDays: number | 'off' }
}

const codeExpired = () =>
  new DomainError('mail_code_over', 'This code can no longer be entered. Nothing was used up.')
const badgesGone = () =>
  new DomainError('badge_codes_gone', 'All badges of this event have been claimed. Nothing was used up.')

/**
 * Keeps what the tap allows for whoever read the mail: uses up the tap's codes, and makes others, which only the mailed
 * link uses. A badge counts as given. Exactly one of concurrent attempts does. @param codes of what is kept
 * @returns the ID of the mail with the link; undefined if another attempt did @throws DomainError mail_code_wrong,
 * mail_code_over, and of the codes; nothing is used up then
 */
export async function keepByCode(
  deps: KeepDeps,
  tap: TapOfChip,
  { entered, codes, actor }: { entered: string; codes: readonly string[]; actor: Actor },
): Promise<number | undefined> {
  const { box, clock } = deps
  const time = clock.now()
  const now = iso(time)
  const nonce = newNonce()
  const holder = await holderOf(deps, tap.tokenRow)
  const kept = await deps.db.write(async (trx) => {
    await holdChip(trx, tap.uid)
    const row = await countTry(trx, { tapId: tap.tapId, now, maxTries })
    // Sent twice at once: the other has kept it.
    if (!row) return (await findReservation(trx, { tapId: tap.tapId }))?.state === 'kept' ? 'kept' : 'over'
    // Committed, so that the attempt counts.
    if (!isCode(box, row.nonce, entered)) return maxTries - row.tries
    const subjects: CodeSubject[] = []
    for (const code of codes) {
      const otp = await findOtp(trx, deps, code)
      // The others are kept without it.
      if (otp?.type === 'POAP_EVENT' && !(await countCodeOut(trx, otp.badgeEventId ?? 0))) continue
      await spendCode(trx, deps, code, now)
      if (otp) subjects.push(otp.subject)
    }
    if (subjects.length === 0) throw codes.length === 0 ? codeExpired() : badgesGone()
    const chip = await findChip(trx, tap.uid)
    const endsAt = await keptUntil(trx, deps.config, subjects, time)
    await addCodes(trx, { id: tap.tapId, codes: storedCodes({ by: 'kept', until: endsAt, subjects }) })
    const hasClaim = subjects.some(({ type }) => type === 'PHYGITAL_CLAIM')
    const tokenRow = chip?.tokenRow ?? null
    const token = tokenRow === null ? undefined : await findToken(trx, tokenRow)
    const change = {
      ...{ round: chip?.claimRound ?? null, tokenRow, nonce, holder: hasClaim ? holder : null },
      // Whoever taps once cannot lock a piece that somebody has claimed before.
      claims: hasClaim ? (isShared(token) ? 2 : 1) : 0,
      ...{ left: subjects.length, keptAt: now, endsAt, linkHash: linkHashOf(linkOf(box, nonce)) },
    }
    if (!(await keepReservation(trx, tap.tapId, change))) throw codeExpired()
    for (const subject of subjects)
      if (subject.type === 'POAP_EVENT')
        await holdBadge(trx, { tapId: tap.tapId, badgeEventId: subject.badgeEventId })
    await recordChange(trx, {
      ...{ at: now, actor, teamId: tap.teamId, action: 'reservations.keep', target: tap.uid },
      detail: { tap: tap.tapId, endsAt },
      chips: [tap.uid],
    })
    return { mail: await queueMail(trx, newMail(tap.tapId, 'link', nonce, time)) }
  })
  if (typeof kept === 'object') return kept.mail
  if (kept === 'kept') return undefined
  if (kept === 'over') throw codeExpired()
  throw new DomainError('mail_code_wrong', `This is not the code. ${kept} more can be entered.`)
}

/** Its claim can be kept, but whoever taps it and names a wallet goes first. */
export const isShared = (token: Pick<LocatedToken, 'claimedAt'> | undefined): boolean =>
  token?.claimedAt != null
