import type { Kysely } from 'kysely'
import { chips, nfc } from './initial/chips.ts'
import { contracts, transactions } from './initial/contracts.ts'
import { badges, events } from './initial/events.ts'
import { audit, batches, fleet, settings, webhooks } from './initial/system.ts'
import { taps } from './initial/taps.ts'
import { teams } from './initial/teams.ts'

/** Each table comes after those that it refers to. @param createTaps for an engine with its own form of this table */
export async function up(
  db: Kysely<unknown>,
  createTaps?: (db: Kysely<unknown>) => Promise<void>,
): Promise<void> {
  await settings(db)
  await teams(db)
  await contracts(db)
  await chips(db)
  await events(db)
  await badges(db)
  await taps(db, createTaps)
  await transactions(db)
  await webhooks(db)
  await batches(db)
  await nfc(db)
  await fleet(db)
  await audit(db)
}
