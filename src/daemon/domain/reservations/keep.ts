import type { Chains } from '../../chain/chains.ts'
import { type Actor, recordChange } from '../../store/audit/audit.ts'
import { countCodeOut } from '../../store/badge-events/badge-events.ts'
import { holdChip } from '../../store/chips/chip-records.ts'
import { findChip } from '../../store/chips/chips.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import { findToken, type LocatedToken } from '../../store/phygitals/tokens.ts'
import { holdBadge } from '../../store/reservations/kept-badges.ts'
import { lastMailOf, queueMail } from '../../store/reservations/mails.ts'
import {
  askReservation,
  countTry,
  findReservation,
  keepReservation,
  keptForAddress,
  replaceLink,
  reservationsOfPage,
} from '../../store/reservations/reservations.ts'
import type { ReservationRow } from '../../store/schema/schema.ts'
import { type CodeSubject, storedCodes } from '../../store/taps/codes.ts'
import { addCodes, type TapOfChip } from '../../store/taps/recorded-taps.ts'
import { findOtp, spendCode } from '../codes/otps.ts'
import type { Seals } from '../codes/seals.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { endIfMoved, holderOf } from './holder.ts'
import { keptUntil } from './keep-until.ts'
import { countMailOf } from './quotas.ts'
import {
  addressHashOf,
  emailAddress,
  isCode,
  linkHashOf,
  linkOf,
  newNonce,
  openAddress,
  sealAddress,
} from './secrets.ts'

export interface KeepDeps {
  db: Db
  box: SecretBox
  seals: Seals
  clock: Clock
  chains: Chains
  config: { keepTapsDays: number | 'off' }
}

const codeLifetimeMs = 10 * 60_000
const maxTries = 5
/** Mails with a code for one tap. */
const maxAsks = 5

/** Who asks for a mail. */
interface MailRequest {
  email: string
  language: string
  /** The client's network; only a keyed hash of it is stored. */
  client: string
}

const newMail = (tapId: number, kind: 'code' | 'link', nonce: string, now: number) => ({
  ...{ tapId, kind, nonce, createdAt: iso(now) },
  messageId: newNonce(),
})

const quotaOf = ({ box }: Pick<KeepDeps, 'box'>, tap: TapOfChip, email: string, client: string) => ({
  addressHash: addressHashOf(box, email),
  clientHash: box.keyedHash(client, 'reservations:client'),
  chipUid: tap.uid,
  teamId: tap.teamId,
})

/**
 * Has a code mailed. Nothing of the tap is used up. @returns the mail's ID @throws DomainError recipient_invalid,
 * rate_limited (also where the tap has asked too often)
 */
export async function askForCode(
  deps: KeepDeps,
  tap: TapOfChip,
  { email: typed, language, client }: MailRequest,
): Promise<number> {
  const email = emailAddress(typed)
  const now = deps.clock.now()
  const quota = quotaOf(deps, tap, email, client)
  const nonce = newNonce()
  return deps.db.write(async (trx) => {
    const asked = {
      ...{ tapId: tap.tapId, chipUid: tap.uid, teamId: tap.teamId, tokenRow: tap.tokenRow, language, nonce },
      address: sealAddress(deps.box, tap.tapId, email),
      addressHash: quota.addressHash,
      codeUntil: iso(now + codeLifetimeMs),
      createdAt: iso(now),
    }
    if (!(await askReservation(trx, asked, maxAsks))) throw asksOver()
    await countMailOf(trx, quota, now)
    return queueMail(trx, newMail(tap.tapId, 'code', nonce, now))
  })
}

const codeOver = () =>
  new DomainError('mail_code_over', 'This code can no longer be entered. Nothing was used up.')
const badgesGone = () =>
  new DomainError('badge_codes_gone', 'All badges of this event have been claimed. Nothing was used up.')
/** The newest code stays good. */
const asksOver = () =>
  new DomainError(
    'rate_limited',
    'This tap has asked for enough mails. Nothing was sent; the code of the newest one stays good.',
  )

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
    if (subjects.length === 0) throw codes.length === 0 ? codeOver() : badgesGone()
    const chip = await findChip(trx, tap.uid)
    const endsAt = await keptUntil(trx, deps.config, subjects, time)
    await addCodes(trx, { id: tap.tapId, codes: storedCodes({ by: 'kept', until: endsAt, subjects }) })
    const hasClaim = subjects.some(({ type }) => type === 'PHYGITAL_CLAIM')
    const tokenRow = chip?.tokenRow ?? null
    const token = tokenRow === null ? undefined : await findToken(trx, tokenRow)
    const change = {
      ...{ round: chip?.claimRound ?? null, tokenRow, nonce, holder: hasClaim ? holder : null },
      // What somebody has claimed before cannot be locked by whoever taps it once.
      claims: hasClaim ? (isShared(token) ? 2 : 1) : 0,
      ...{ left: subjects.length, keptAt: now, endsAt, linkHash: linkHashOf(linkOf(box, nonce)) },
    }
    if (!(await keepReservation(trx, tap.tapId, change))) throw codeOver()
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
  if (kept === 'over') throw codeOver()
  throw new DomainError('mail_code_wrong', `This is not the code. ${kept} more can be entered.`)
}

/** Its claim can be kept, but whoever taps it and names a wallet goes first. */
export const isShared = (token: Pick<LocatedToken, 'claimedAt'> | undefined): boolean =>
  token?.claimedAt != null

/**
 * Mails a new link to what is kept for this address, each of several taps; the links before end. Says the same if
 * nothing is, so that nobody learns for whom. @throws DomainError recipient_invalid, rate_limited
 */
export async function askForLink(
  deps: KeepDeps,
  tap: TapOfChip,
  { email: typed, client }: MailRequest,
): Promise<number | undefined> {
  const email = emailAddress(typed)
  const now = deps.clock.now()
  const quota = quotaOf(deps, tap, email, client)
  const { addressHash } = quota
  return deps.db.write(async (trx) => {
    await countMailOf(trx, quota, now)
    let mail: number | undefined
    for (const { tapId, nonce: before } of await keptForAddress(trx, { ...keyOf(tap, now), addressHash })) {
      const nonce = newNonce()
      const linkHash = linkHashOf(linkOf(deps.box, nonce))
      if (await replaceLink(trx, { tapId, before, nonce, linkHash }))
        mail = await queueMail(trx, newMail(tapId, 'link', nonce, now))
    }
    return mail
  })
}

const keyOf = ({ tapId, uid, tokenRow }: TapOfChip, now: number) => ({ tapId, uid, tokenRow, now: iso(now) })

/** A tap's own reservation, as its page shows it. */
export interface OwnReservation {
  row: ReservationRow
  /** Undefined once it is forgotten. */
  email: string | undefined
  /** Of the newest mail. */
  mail: 'queued' | 'sent' | 'failed'
  triesLeft: number
}

export interface ReservationReadDeps {
  db: Pick<Db, 'read' | 'write'>
  box: SecretBox
  clock: { now(): number }
  chains: Chains
}

/** @returns the tap's own reservation, and whether the claim is kept for somebody else */
export async function reservationsOf(
  deps: ReservationReadDeps,
  tap: TapOfChip,
): Promise<{ own: OwnReservation | undefined; isKeptByOther: boolean }> {
  const { db, box, clock } = deps
  const found = await reservationsOfPage(db.read, keyOf(tap, clock.now()))
  const moved = await Promise.all(found.map((one) => endIfMoved(deps, one, true)))
  const rows = moved.includes(true) ? found.filter((_, index) => !moved[index]) : found
  const row = rows.find(({ tapId }) => tapId === tap.tapId)
  const isKeptByOther = rows.some(({ tapId }) => tapId !== tap.tapId)
  if (!row) return { own: undefined, isKeptByOther }
  const last = await lastMailOf(db.read, { tapId: tap.tapId })
  const own: OwnReservation = {
    row,
    email: row.address === null ? undefined : openAddress(box, tap.tapId, row.address),
    mail: last?.failedAt != null ? 'failed' : last?.sentAt == null ? 'queued' : 'sent',
    triesLeft: row.codeUntil > iso(clock.now()) ? Math.max(0, maxTries - row.tries) : 0,
  }
  return { own, isKeptByOther }
}

export { findReservation }
