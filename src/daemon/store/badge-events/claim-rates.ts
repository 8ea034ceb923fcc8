import type { Queries } from '../database/database.ts'

export interface ClaimRate {
  badgeEventId: number
  /** YYYY-MM-DDTHH, UTC. */
  hour: string
  claims: number
  /** Of these, since `recent`. */
  recent: number
}

interface Window {
  teamId: number | undefined
  since: string
  recent: string
  /** The newest claims of all teams that are looked at. */
  limit: number
}

const hourLength = 13

/** Claims by event and hour. Reads the same number of rows however many claims there are. */
export const claimsByHour = async (
  db: Queries,
  { teamId, since, recent, limit }: Window,
): Promise<ClaimRate[]> => {
  const newest = db
    .selectFrom('badgeClaims')
    .select(['badgeEventId', 'createdAt'])
    .orderBy('id', 'desc')
    .limit(limit)
  let query = db
    .selectFrom(newest.as('newest'))
    .select((e) => [
      'newest.badgeEventId',
      e.fn<string>('substr', ['newest.createdAt', e.lit(1), e.lit(hourLength)]).as('hour'),
      e.fn.countAll<number>().as('claims'),
      e.fn.countAll<number>().filterWhere('newest.createdAt', '>=', recent).as('recent'),
    ])
    .where('newest.createdAt', '>=', since)
    .groupBy(['newest.badgeEventId', 'hour'])
  if (teamId !== undefined)
    query = query
      .innerJoin('badgeEvents', 'badgeEvents.id', 'newest.badgeEventId')
      .where('badgeEvents.teamId', '=', teamId)
  return (await query.execute()).map((row) => ({
    ...row,
    claims: Number(row.claims),
    recent: Number(row.recent),
  }))
}

/** When the claim before the newest `limit` ones was made; undefined: there is none. */
export const claimBefore = async (db: Queries, limit: number): Promise<string | undefined> =>
  (
    await db
      .selectFrom('badgeClaims')
      .select('createdAt')
      .orderBy('id', 'desc')
      .limit(1)
      .offset(limit)
      .executeTakeFirst()
  )?.createdAt
