import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db, Queries } from '../../store/database/database.ts'
import { findToken } from '../../store/phygitals/tokens.ts'
import { dueMails, updateMail } from '../../store/reservations/mails.ts'
import { findReservation } from '../../store/reservations/reservations.ts'
import type { MailRow } from '../../store/schema/schema.ts'
import { pageOfChip } from '../../store/tap-page/tap-pages.ts'
import { findTap } from '../../store/taps/recorded-taps.ts'
import { assetsOf } from '../chips/chip-record.ts'
import { codeOf, linkOf, openAddress } from '../reservations/secrets.ts'
import { iso } from '../time/time.ts'
import { describePiece } from './piece.ts'

interface Deps {
  db: Db
  box: SecretBox
  clock: { now(): number }
}

/** A mail's content and recipient. */
export interface DueMail {
  to: string
  language: string
  messageId: string
  piece: string | undefined
  team: string | undefined
  ownWords: string | null | undefined
  about: { is: 'code'; code: string } | { is: 'link'; secret: string; until: string }
}

export interface MailInQueue {
  id: number
  attempts: number
  /** In milliseconds. */
  until: number
  mail: DueMail | undefined
}

/** A link's mail is tried for this long, a code's until the code ends. */
const triedForMs = 24 * 3_600_000

export async function mailsToSend(deps: Deps, limit: number): Promise<MailInQueue[]> {
  const rows = await dueMails(deps.db.read, iso(deps.clock.now()), limit)
  return Promise.all(rows.map((row) => inQueue(deps, row)))
}

async function inQueue({ db, box, clock }: Deps, row: MailRow): Promise<MailInQueue> {
  const { id, attempts, tapId, kind, nonce, messageId } = row
  const found = await findReservation(db.read, { tapId })
  const until = Date.parse(row.createdAt) + triedForMs
  const isWanted = found?.nonce === nonce && found.state === (kind === 'code' ? 'asked' : 'kept')
  if (!found || !isWanted || found.address === null) return { id, attempts, until, mail: undefined }
  const page = await pageOfChip(db.read, found.chipUid)
  const token = found.tokenRow === null ? undefined : await findToken(db.read, found.tokenRow)
  const { name } = describePiece(token?.metadata ?? null, page?.item)
  const piece = name ?? (await titlesOf(db.read, tapId, iso(clock.now()), row.createdAt))
  return {
    ...{ id, attempts },
    until: kind === 'code' ? Date.parse(found.codeUntil) : until,
    mail: {
      to: openAddress(box, tapId, found.address),
      ...{ language: found.language, messageId, piece, team: page?.brand.brandName ?? undefined },
      ownWords: page?.brand.pageStrings,
      about:
        kind === 'code'
          ? { is: 'code', code: codeOf(box, nonce) }
          : { is: 'link', secret: linkOf(box, nonce), until: found.endsAt ?? '' },
    },
  }
}

/** Of the badges and guestbooks of a tap whose chip has no piece; undefined: it has none. */
async function titlesOf(
  db: Queries,
  tapId: number,
  now: string,
  shownAt: string,
): Promise<string | undefined> {
  const tap = await findTap(db, tapId)
  if (!tap) return undefined
  const { badgeEvents, guestbookEvents } = await assetsOf(db, tap, now, shownAt)
  const titles = [
    ...badgeEvents.map(({ shownTitle, name }) => shownTitle || name),
    ...guestbookEvents.map(({ name }) => name),
  ]
  return titles.filter((title) => title !== '').join(' · ') || undefined
}

export const mailSent = ({ db, clock }: Deps, id: number): Promise<boolean> =>
  db.write((trx) => updateMail(trx, id, { sentAt: iso(clock.now()), reason: null }))

export const mailLater = (
  { db }: Deps,
  { id, attempts }: { id: number; attempts: number },
  at: number,
  reason: string,
) => db.write((trx) => updateMail(trx, id, { dueAt: iso(at), attempts: attempts + 1, reason }))

export const mailGivenUp = ({ db, clock }: Deps, id: number, reason: string): Promise<boolean> =>
  db.write((trx) => updateMail(trx, id, { failedAt: iso(clock.now()), reason }))
