import { hkdfSync } from 'node:crypto'
import type { ExpressionBuilder, SqlBool } from 'kysely'
import { holdChip } from './chip-records.ts'
import { lastTapBefore } from './clock-set-back.ts'
import type { Queries } from './database.ts'
import { hashCode } from './refs.ts'
import type { Database, OtpRow } from './schema.ts'
import { SecretBox } from './secret-box.ts'
import { named, statement } from './statement.ts'

const otpColumns = [
  'codeHash',
  'type',
  'chipUid',
  'tapId',
  'tokenRow',
  'badgeEventId',
  'guestbookEventId',
  'createdAt',
  'expiresAt',
  'usedAt',
  'deletedAt',
] as const

type NewOtp = Omit<OtpRow, 'signature'>

const insert = statement<NewOtp>()((db, p) => db.insertInto('otps').values(named(p, otpColumns)))
const byCode = statement<{ codeHash: string }>()((db, p) =>
  db
    .selectFrom('otps')
    .selectAll()
    .select((e) => e('tapId', '<=', lastTapBefore).as('isEnded'))
    .where('codeHash', '=', p.codeHash),
)
const take = statement<{ codeHash: string; now: string }>()((db, p) =>
  db
    .updateTable('otps')
    .set({ usedAt: p.now })
    .where('codeHash', '=', p.codeHash)
    .where('usedAt', 'is', null)
    .where('deletedAt', 'is', null)
    .where('expiresAt', '>', p.now)
    .where('tapId', '>', lastTapBefore),
)
const endOthers = statement<OtpRow & { now: string }>()((db, p) =>
  db
    .updateTable('otps')
    .set({ expiresAt: p.now })
    .where('chipUid', '=', p.chipUid)
    .where('expiresAt', '>', p.now)
    .where('tapId', '=', p.tapId)
    .where('type', '=', p.type)
    .where('tokenRow', 'is not distinct from', p.tokenRow)
    .where('badgeEventId', 'is not distinct from', p.badgeEventId)
    .where('guestbookEventId', 'is not distinct from', p.guestbookEventId)
    .where('usedAt', 'is', null),
)
const remove = statement<{ codeHash: string; now: string }>()((db, p) =>
  db
    .updateTable('otps')
    .set({ deletedAt: p.now })
    .where('codeHash', '=', p.codeHash)
    .where('deletedAt', 'is', null),
)
const end = statement<{ chipUid: string; now: string }>()((db, p) =>
  db
    .updateTable('otps')
    .set({ expiresAt: p.now })
    .where('chipUid', '=', p.chipUid)
    .where('expiresAt', '>', p.now),
)

export const insertOtp = (
  db: Queries,
  code: string,
  otp: Omit<NewOtp, 'codeHash' | 'usedAt' | 'deletedAt'>,
): Promise<number> => insert.run(db, { ...otp, codeHash: hashCode(code), usedAt: null, deletedAt: null })

/** `isEnded`: the tap was before the clock was last set back. */
export type FoundOtp = OtpRow & { isEnded: SqlBool }

export const findOtp = (db: Queries, code: string): Promise<FoundOtp | undefined> =>
  byCode.first(db, { codeHash: hashCode(code) })

/**
 * Also ends other codes of the tap for the same subject. Call it in the transaction that records the intent.
 * @returns false if the code is not valid
 */
export async function takeOtp(db: Queries, code: string, now: string): Promise<boolean> {
  const otp = await findOtp(db, code)
  if (!otp) return false
  // What a code is used for may end all codes of its chip: two that did so at once would wait for each other.
  await holdChip(db, otp.chipUid)
  if ((await take.run(db, { codeHash: otp.codeHash, now })) !== 1) return false
  await endOthers.run(db, { ...otp, now })
  return true
}

const sign = statement<{ codeHash: string; signature: Uint8Array }>()((db, p) =>
  db.updateTable('otps').set({ signature: p.signature }).where('codeHash', '=', p.codeHash),
)

// Whoever reads the database or a backup gets no signature: only the code opens it.
const boxOf = (code: string): SecretBox =>
  new SecretBox(new Uint8Array(hkdfSync('sha256', code, '', 'transfer signature', 32)))

/** Keeps the signature that a code is used up for. @param signature text of any shape, for `signatureOf` */
export const keepSignature = (db: Queries, code: string, signature: string): Promise<number> => {
  const codeHash = hashCode(code)
  return sign.run(db, { codeHash, signature: boxOf(code).seal(Buffer.from(signature), codeHash) })
}

/** Undefined if the code was not used up for a signature. */
export const signatureOf = ({ signature, codeHash }: OtpRow, code: string): string | undefined =>
  signature === null ? undefined : boxOf(code).open(signature, codeHash).toString()

/** Keeps the row, so that the deleted code has its own error. */
export const deleteOtp = async (db: Queries, code: string, now: string): Promise<boolean> =>
  (await remove.run(db, { codeHash: hashCode(code), now })) === 1

/** Codes for an event that a chip no longer gives. */
export const endBadgeCodes = (
  db: Queries,
  { chipUid, badgeEventId, now }: { chipUid: string; badgeEventId: number; now: string },
) => endCodes.run(db, { chipUid, badgeEventId, now })

const endCodes = statement<{ chipUid: string; badgeEventId: number; now: string }>()((db, p) =>
  db
    .updateTable('otps')
    .set({ expiresAt: p.now })
    .where('chipUid', '=', p.chipUid)
    .where('badgeEventId', '=', p.badgeEventId)
    .where('expiresAt', '>', p.now),
)

export const endOtpsOfChip = (db: Queries, chipUid: string, now: string) => end.run(db, { chipUid, now })

const endClaims = statement<{ chipUid: string; now: string }>()((db, p) =>
  db
    .updateTable('otps')
    .set({ expiresAt: p.now })
    .where('chipUid', '=', p.chipUid)
    .where('type', '=', 'PHYGITAL_CLAIM')
    .where('expiresAt', '>', p.now),
)

export const endClaimsOfChip = (db: Queries, chipUid: string, now: string): Promise<number> =>
  endClaims.run(db, { chipUid, now })

// Its own taps have IDs in the order of its counter, since each of them locked its row; those of others may not.
const lastOwnTap = (e: ExpressionBuilder<Database, 'chips'>) =>
  e
    .selectFrom('taps')
    .select((f) => f.fn.max('taps.id').as('id'))
    .whereRef('taps.chipUid', '=', 'chips.uid')

const endEarlierTaps = statement<{ chipUid: string }>()((db, p) =>
  db
    .updateTable('chips')
    .set((e) => ({ claimsEndedTap: e.fn.coalesce(lastOwnTap(e), 'claimsEndedTap') }))
    .where('uid', '=', p.chipUid),
)
/** For claims: refs of all taps so far give no code for one (any more). */
export const endClaimsOfEarlierTaps = (db: Queries, chipUid: string): Promise<number> =>
  endEarlierTaps.run(db, { chipUid })
