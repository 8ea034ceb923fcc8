import type { Queries } from '../database/database.ts'
import { affected } from '../database/statement.ts'

export interface BadgeContent {
  teamId: number
  /** SHA-256 of the fields and the image. */
  hash: string
}

/** @returns false if the content has an event, or its event is being created */
export const claimContent = (db: Queries, { teamId, hash }: BadgeContent): Promise<boolean> =>
  inserted(
    db
      .insertInto('badgeContents')
      .values({ teamId, hash, badgeEventId: null })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow(),
  )

const inserted = async (
  result: Promise<{ numInsertedOrUpdatedRows?: bigint | undefined }>,
): Promise<boolean> => ((await result).numInsertedOrUpdatedRows ?? 0n) > 0n

/** @returns null while its creation has no result; undefined if the content is unknown */
export async function eventOfContent(
  db: Queries,
  { teamId, hash }: BadgeContent,
): Promise<number | null | undefined> {
  const query = db
    .selectFrom('badgeContents')
    .select('badgeEventId')
    .where('teamId', '=', teamId)
    .where('hash', '=', hash)
  return (await query.executeTakeFirst())?.badgeEventId
}

/** A content keeps its first event. */
export const linkContent = (db: Queries, content: BadgeContent, badgeEventId: number) =>
  db
    .insertInto('badgeContents')
    .values({ ...content, badgeEventId })
    .onConflict((conflict) =>
      conflict
        .columns(['teamId', 'hash'])
        .doUpdateSet({ badgeEventId })
        .where('badgeContents.badgeEventId', 'is', null),
    )
    .execute()

export const forgetContent = (db: Queries, { teamId, hash }: BadgeContent) =>
  affected(
    db
      .deleteFrom('badgeContents')
      .where('teamId', '=', teamId)
      .where('hash', '=', hash)
      .where('badgeEventId', 'is', null),
  )
