import type { Insertable } from 'kysely'
import type { Queries } from '../database/database.ts'
import { affected, once, statement } from '../database/statement.ts'
import { heldLeases } from '../lease/lease.ts'
import type { BadgeClaimRow, BadgeClaimsTable } from '../schema/schema.ts'

export const codeContext = (badgeEventId: number, number: number): string =>
  `badgeCodes:${badgeEventId}:${number}`

type CodeId = { badgeEventId: number; number: number }

const insert = statement<CodeId & { code: Buffer }>()((db, p) =>
  db
    .insertInto('badgeCodes')
    .values({ badgeEventId: p.badgeEventId, number: p.number, code: p.code, state: 'free', turn: 0 }),
)
export async function insertCodes(
  db: Queries,
  badgeEventId: number,
  codes: readonly { number: number; code: Buffer }[],
): Promise<void> {
  for (const code of codes) await insert.run(db, { badgeEventId, ...code })
}

/** Ordered by number. Codes are never deleted, because claims refer to them by number. */
export const codesOfEvent = (
  db: Queries,
  badgeEventId: number,
): Promise<{ number: number; code: Buffer }[]> =>
  db
    .selectFrom('badgeCodes')
    .select(['number', 'code'])
    .where('badgeEventId', '=', badgeEventId)
    .orderBy('number')
    .execute()

export async function freeCodesCount(db: Queries, badgeEventId: number): Promise<number> {
  const { count } = await db
    .selectFrom('badgeCodes')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('badgeEventId', '=', badgeEventId)
    .where('state', '=', 'free')
    .executeTakeFirstOrThrow()
  return Number(count)
}

const firstFree = statement<{ badgeEventId: number }>()((db, p) =>
  db
    .selectFrom('badgeCodes')
    .select('number')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('state', '=', 'free')
    .orderBy('turn')
    .orderBy('number')
    .limit(1),
)
type State = 'free' | 'taken' | 'lost'

const setState = statement<CodeId & { from: State; to: State }>()((db, p) =>
  db
    .updateTable('badgeCodes')
    .set({ state: p.to })
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number)
    .where('state', '=', p.from),
)

/** Atomic. @returns the number of the code, or undefined if none is free */
export async function takeFreeCode(db: Queries, badgeEventId: number): Promise<number | undefined> {
  for (;;) {
    const free = await firstFree.first(db, { badgeEventId })
    if (!free) return undefined
    if (await setState.runOnce(db, { badgeEventId, number: free.number, from: 'free', to: 'taken' }))
      return free.number
  }
}

const moveToEnd = statement<CodeId>()((db, p) =>
  db
    .updateTable('badgeCodes')
    .set((eb) => ({ state: 'free', turn: eb('turn', '+', 1) }))
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number)
    .where('state', '!=', 'free'),
)

/** `behind`: free, but taken after all others. `lost`: claimed elsewhere. */
export type CodeOutcome = 'free' | 'behind' | 'lost'

export async function settleCode(db: Queries, code: CodeId, to: CodeOutcome): Promise<void> {
  if (to === 'behind') await moveToEnd.run(db, code)
  else await setState.run(db, { ...code, from: 'taken', to })
}

export const requeueCode = moveToEnd.runOnce

const sealed = statement<CodeId>()((db, p) =>
  db
    .selectFrom('badgeCodes')
    .select('code')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number),
)
export const sealedCode = async (db: Queries, code: CodeId): Promise<Buffer | undefined> =>
  (await sealed.first(db, code))?.code

export async function insertClaim(
  db: Queries,
  claim: Pick<
    Insertable<BadgeClaimsTable>,
    'badgeEventId' | 'codeNumber' | 'otpHash' | 'chipUid' | 'recipient' | 'deviceHash' | 'createdAt'
  >,
): Promise<number> {
  const fresh = { ...claim, state: 'open' as const, attempts: 0, isSent: 0, isAnswered: 0 }
  return (await db.insertInto('badgeClaims').values(fresh).returning('id').executeTakeFirstOrThrow()).id
}

const byId = statement<{ id: number }>()((db, p) =>
  db.selectFrom('badgeClaims').selectAll().where('id', '=', p.id),
)
export const findClaim = (db: Queries, id: number): Promise<BadgeClaimRow | undefined> =>
  byId.first(db, { id })

const ofOtp = statement<{ otpHash: string }>()((db, p) =>
  db.selectFrom('badgeClaims').selectAll().where('otpHash', '=', p.otpHash),
)
export const findClaimOfOtp = (db: Queries, otpHash: string): Promise<BadgeClaimRow | undefined> =>
  ofOtp.first(db, { otpHash })

export const hasDeviceClaimed = statement<{ badgeEventId: number; deviceHash: string }>()((db, p) =>
  db
    .selectFrom('badgeClaims')
    .select('id')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('deviceHash', '=', p.deviceHash),
).exists

export const updateClaim = (db: Queries, id: number, change: Partial<Omit<BadgeClaimRow, 'id'>>) =>
  affected(db.updateTable('badgeClaims').set(change).where('id', '=', id))

export const deleteClaim = (db: Queries, id: number) =>
  once(db.deleteFrom('badgeClaims').where('id', '=', id))

/** Includes claims whose transaction is pending. */
export const dueClaims = (db: Queries, now: string, limit: number) =>
  db.selectFrom('badgeClaims').selectAll().where('dueAt', '<=', now).orderBy('dueAt').limit(limit).execute()

/** Newest first. Includes open claims. */
export function claimsOfEvent(
  db: Queries,
  badgeEventId: number,
  { before, limit }: { before?: number | undefined; limit: number },
): Promise<BadgeClaimRow[]> {
  let query = db
    .selectFrom('badgeClaims')
    .selectAll()
    .where('badgeEventId', '=', badgeEventId)
    .orderBy('id', 'desc')
    .limit(limit)
  if (before !== undefined) query = query.where('id', '<', before)
  return query.execute()
}

export const leaseOfClaim = (id: number): string => `${claimLeases}${id}`
const claimLeases = 'badge claim '

/** Open claims whose request was interrupted when its daemon ended. @param before of creation */
export async function abandonedClaims(db: Queries, before: string): Promise<BadgeClaimRow[]> {
  const open = await db
    .selectFrom('badgeClaims')
    .selectAll()
    .where('state', '=', 'open')
    .where('dueAt', 'is', null)
    .where('createdAt', '<=', before)
    .execute()
  const held = new Set(open.length === 0 ? [] : await heldLeases(db, claimLeases))
  return open.filter(({ id }) => !held.has(leaseOfClaim(id)))
}

/** After a failed mint, the request may be repeated with its Idempotency-Key. */
export async function forgetMintKeys(db: Queries, { id, otpHash }: { id: number; otpHash: string }) {
  await db
    .deleteFrom('idempotencyKeys')
    .where('scope', '=', `code:${otpHash}`)
    .where('transactionId', '=', id)
    .execute()
}

export async function claimsCount(db: Queries, badgeEventId: number): Promise<number> {
  const { count } = await db
    .selectFrom('badgeClaims')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('badgeEventId', '=', badgeEventId)
    .executeTakeFirstOrThrow()
  return Number(count)
}
