import type { Queries } from './database.ts'
import type { BadgeImagePartsTable } from './schema.ts'
import { statement } from './statement.ts'

type ImageType = BadgeImagePartsTable['type']

const insert = statement<{ badgeEventId: number; part: number; type: ImageType; bytes: Buffer }>()((db, p) =>
  db
    .insertInto('badgeImageParts')
    .values({ badgeEventId: p.badgeEventId, part: p.part, type: p.type, bytes: p.bytes }),
)

/** @param parts all of it, in order */
export async function insertImage(
  db: Queries,
  { badgeEventId, type, parts }: { badgeEventId: number; type: ImageType; parts: readonly Buffer[] },
): Promise<void> {
  for (const [part, bytes] of parts.entries()) await insert.run(db, { badgeEventId, part, type, bytes })
}

const one = statement<{ badgeEventId: number; part: number }>()((db, p) =>
  db
    .selectFrom('badgeImageParts')
    .select(['type', 'bytes'])
    .where('badgeEventId', '=', p.badgeEventId)
    .where('part', '=', p.part),
)

/** A part of an image, counted from 0; undefined behind its end, or where there is none. */
export const imagePart = (
  db: Queries,
  badgeEventId: number,
  part: number,
): Promise<{ type: ImageType; bytes: Buffer } | undefined> => one.first(db, { badgeEventId, part })
