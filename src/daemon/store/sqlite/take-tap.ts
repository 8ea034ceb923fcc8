import { hashCode } from '../refs.ts'
import type { TapToTake } from '../tap-to-take.ts'
import type { Connection } from './connection.ts'

/**
 * Takes a valid tap by statements of the driver itself, since what Kysely and its promises take is as long as what SQLite
 * does. Belongs in a transaction: all that a tap leaves exists exactly if its counter was raised.
 * @returns the ID of the tap; undefined: its counter is used up or the chip has changed, and nothing is written
 */
export type TakeTap = (tap: TapToTake) => number | undefined

export function tapTaker(connection: Connection): TakeTap {
  const raise = connection.prepare(
    `update chips set "lastCounter" = ?, "lastTapAt" = ?
     where uid = ? and "lastCounter" < ? and "catchesUp" = 0 and "disabledAt" is null and "teamId" = ?
       and "keySetId" is ? and generation = ? and "tokenRow" is ? and "redirectUrl" is ? and "itemId" is ?`,
  )
  const insertTap = connection.prepare(
    `insert into taps (at, "chipUid", "teamId", "keySetId", counter, outcome, via, tamper) values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertRef = connection.prepare(
    `insert into refs ("idHash", kind, "chipUid", "tapId", "createdAt", "expiresAt") values (?, ?, ?, ?, ?, ?)`,
  )
  const insertOtp = connection.prepare(
    `insert into otps ("codeHash", type, "chipUid", "tapId", "tokenRow", "badgeEventId", "guestbookEventId", "createdAt",
       "expiresAt") values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const insertVisit = connection.prepare(
    `insert into "pageVisits" ("cookieHash", "refHash", "chipUid", counter, refs, "expiresAt") values (?, ?, ?, ?, ?, ?)`,
  )
  // The webhook may have been disabled or removed since it was read.
  const tell = connection.prepare(
    `insert into "webhookDeliveries" ("webhookId", "messageId", type, at, "chipUid", data)
     select webhooks.id, ?, ?, ?, chips.uid, substr(?, 1, length(?) - 1) || ',"chipGroup":' || json_quote("chipGroups".name) || '}'
     from webhooks, chips join "chipGroups" on "chipGroups".id = chips."chipGroupId"
     where webhooks.id = ? and webhooks."disabledAt" is null and chips.uid = ?`,
  )
  return ({ seen, tap, rows, message }) => {
    const { uid, teamId, keySetId, generation, tokenRow, redirectUrl, itemId } = seen
    const { counter, at, outcome, via, tamper } = tap
    const isAsSeen = [teamId, keySetId, generation, tokenRow, redirectUrl, itemId]
    if (raise.run(counter, at, uid, counter, ...isAsSeen).changes === 0) return undefined
    const { lastInsertRowid } = insertTap.run(at, uid, teamId, keySetId, counter, outcome, via, tamper)
    const id = Number(lastInsertRowid)
    for (const { code, kind, expiresAt } of rows.refs ?? [])
      insertRef.run(hashCode(code), kind, uid, id, at, expiresAt)
    for (const { code, type, tokenRow, badgeEventId, guestbookEventId, expiresAt } of rows.otps ?? [])
      insertOtp.run(hashCode(code), type, uid, id, tokenRow, badgeEventId, guestbookEventId, at, expiresAt)
    if (rows.visit) {
      const { cookie, refHash, refs, expiresAt } = rows.visit
      insertVisit.run(hashCode(cookie), refHash, uid, counter, refs, expiresAt)
    }
    for (const webhook of message?.webhooks ?? []) {
      const { messageId, type, data } = message ?? {}
      tell.run(messageId, type, at, data, data, webhook, uid)
    }
    return id
  }
}
