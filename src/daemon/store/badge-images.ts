import type { Queries } from './database.ts'
import type { BadgeImagesTable } from './schema.ts'

export async function insertImage(db: Queries, image: BadgeImagesTable): Promise<void> {
  await db.insertInto('badgeImages').values(image).execute()
}

export const findImage = (db: Queries, badgeEventId: number): Promise<BadgeImagesTable | undefined> =>
  db.selectFrom('badgeImages').selectAll().where('badgeEventId', '=', badgeEventId).executeTakeFirst()

export async function allImageFiles(db: Queries): Promise<string[]> {
  return (await db.selectFrom('badgeImages').select('file').execute()).map(({ file }) => file)
}
