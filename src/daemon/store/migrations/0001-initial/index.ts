import type { Kysely } from 'kysely'
import { chips } from './chips.ts'
import { events } from './events.ts'
import { ownership } from './ownership.ts'
import { records } from './records.ts'
import { taps } from './taps.ts'
import { things } from './things.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await ownership(db)
  await things(db)
  await chips(db)
  await events(db)
  await taps(db)
  await records(db)
}
