import type { Queries } from './database.ts'
import { statement } from './statement.ts'

/** Where a code is sealed to: it opens in no other row. */
export const codePlace = (badgeEventId: number, number: number): string =>
  `badgeCodes:${badgeEventId}:${number}`

type Place = { badgeEventId: number; number: number }

const insert = statement<Place & { code: Buffer }>()((db, p) =>
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

/** All that an event has, in the order of their numbers. None is ever removed: claims know them by number. */
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

const setState = statement<Place & { from: State; to: State }>()((db, p) =>
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

const putBehind = statement<Place>()((db, p) =>
  db
    .updateTable('badgeCodes')
    .set((eb) => ({ state: 'free', turn: eb('turn', '+', 1) }))
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number)
    .where('state', '!=', 'free'),
)

/** What becomes of a taken code. `behind`: free, and taken once the others are gone. `lost`: somebody claimed it elsewhere. */
export type Fate = 'free' | 'behind' | 'lost'

export async function settleCode(db: Queries, place: Place, to: Fate): Promise<void> {
  if (to === 'behind') await putBehind.run(db, place)
  else await setState.run(db, { ...place, from: 'taken', to })
}

/** What was taken for lost is not. */
export const findCodeAgain = async (db: Queries, place: Place): Promise<boolean> =>
  (await putBehind.run(db, place)) === 1

const sealed = statement<Place>()((db, p) =>
  db
    .selectFrom('badgeCodes')
    .select('code')
    .where('badgeEventId', '=', p.badgeEventId)
    .where('number', '=', p.number),
)
export const sealedCode = async (db: Queries, place: Place): Promise<Buffer | undefined> =>
  (await sealed.first(db, place))?.code
