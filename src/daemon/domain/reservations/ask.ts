import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import type { Db } from '../../store/database/database.ts'
import { queueMail } from '../../store/reservations/mails.ts'
import { askReservation, keptForAddress, replaceLink } from '../../store/reservations/reservations.ts'
import type { TapOfChip } from '../../store/taps/recorded-taps.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { chipKey } from './own.ts'
import { countMailOf } from './quotas.ts'
import { addressHashOf, emailAddress, linkHashOf, linkOf, newNonce, sealAddress } from './secrets.ts'

export interface AskDeps {
  db: Db
  box: SecretBox
  clock: Clock
}

const codeLifetimeMs = 10 * 60_000
/** Mails with a code for one tap. */
const maxAsks = 5

/** Of a person who asks for a mail. */
interface MailRequest {
  email: string
  language: string
  /** The client's network; only a keyed hash of it is stored. */
  client: string
}

export const newMail = (tapId: number, kind: 'code' | 'link', nonce: string, now: number) => ({
  ...{ tapId, kind, nonce, createdAt: iso(now) },
  messageId: newNonce(),
})

const quotaOf = ({ box }: Pick<AskDeps, 'box'>, tap: TapOfChip, email: string, client: string) => ({
  addressHash: addressHashOf(box, email),
  clientHash: box.keyedHash(client, 'reservations:client'),
  chipUid: tap.uid,
  teamId: tap.teamId,
})

/** The newest code stays good. */
const tooManyAsks = () =>
  new DomainError(
    'rate_limited',
    'This tap has asked for enough mails. Nothing was sent; the code of the newest one stays good.',
  )

/**
 * Has a code mailed. Nothing of the tap is used up. @returns the mail's ID @throws DomainError recipient_invalid,
 * rate_limited (also where the tap has asked too often)
 */
export async function askForCode(
  deps: AskDeps,
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
    if (!(await askReservation(trx, asked, maxAsks))) throw tooManyAsks()
    await countMailOf(trx, quota, now)
    return queueMail(trx, newMail(tap.tapId, 'code', nonce, now))
  })
}

/**
 * Mails a new link to what is kept for this address, each of several taps; the links before end. Says the same if
 * nothing is, so that nobody learns for whom. @throws DomainError recipient_invalid, rate_limited
 */
export async function askForLink(
  deps: AskDeps,
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
    for (const { tapId, nonce: before } of await keptForAddress(trx, { ...chipKey(tap, now), addressHash })) {
      const nonce = newNonce()
      const linkHash = linkHashOf(linkOf(deps.box, nonce))
      if (await replaceLink(trx, { tapId, before, nonce, linkHash }))
        mail = await queueMail(trx, newMail(tapId, 'link', nonce, now))
    }
    return mail
  })
}
