import type { Queries } from './database.ts'
import { statement } from './statement.ts'

/** Where a code is sealed to: it opens in no other row. */
export const codePlace = (badgeEventId: number, number: number): string =>
  `badgeCodes:${badgeEventId}:${number}`

type Place = { badgeEventId: number; number: number }

const insert = statement<Place & { code: Buffer }>()((db, p) =>
  db
    .insertInto('badgeCodes')
    .values({ badgeEventId: p.badgeEventId, number: p.number, code: p.code, state: 'free' }),
)
export async function insertCodes(
  db: Queries,
  badgeEventId: number,
  codes: readonly { number: number; code: Buffer }[],
): Promise<void> {
  for (const code of codes) await insert.run(db, { badgeEventId, ...code })
}

/** Of an event whose codes are fetched anew, before any of them was given to anybody. */
export async function deleteCodes(db: Queries, badgeEventId: number): Promise<void> {
  await db.deleteFrom('badgeCodes').where('badgeEventId', '=', badgeEventId).execute()
}

const firstFree = statement<{ badgeEventId: number }>()((db, p) =>
  db
    .selectFrom('badgeCodes')
    .select('number')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('state', '=', 'free')
    .orderBy('number')
    .limit(1),
)
const setState = statement<Place & { from: 'free' | 'taken'; to: 'free' | 'taken' | 'lost' }>()((db, p) =>
  db
    .updateTable('badgeCodes')
    .set({ state: p.to })
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number)
    .where('state', '=', p.from),
)

/** Takes a free code, for one caller alone. @returns its number, or undefined where none is free */
export async function takeFreeCode(db: Queries, badgeEventId: number): Promise<number | undefined> {
  const free = await firstFree.first(db, { badgeEventId })
  if (!free) return undefined
  const taken = await setState.run(db, { badgeEventId, number: free.number, from: 'free', to: 'taken' })
  return taken === 1 ? free.number : undefined
}

/** Gives a taken code back, or marks it as claimed by somebody elsewhere. */
export async function settleCode(db: Queries, place: Place, to: 'free' | 'lost'): Promise<boolean> {
  return (await setState.run(db, { ...place, from: 'taken', to })) === 1
}

const sealed = statement<Place>()((db, p) =>
  db
    .selectFrom('badgeCodes')
    .select('code')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number),
)
export const sealedCode = async (db: Queries, place: Place): Promise<Buffer | undefined> =>
  (await sealed.first(db, place))?.code
