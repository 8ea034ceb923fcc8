import type { Kysely } from 'kysely'
import { audit } from './initial/audit.ts'
import { badges } from './initial/badges.ts'
import { batches } from './initial/batches.ts'
import { chips } from './initial/chips.ts'
import { contracts } from './initial/contracts.ts'
import { events } from './initial/events.ts'
import { fleet } from './initial/fleet.ts'
import { nfc } from './initial/nfc.ts'
import { settings } from './initial/settings.ts'
import { taps } from './initial/taps.ts'
import { teams } from './initial/teams.ts'
import { transactions } from './initial/transactions.ts'
import { webhooks } from './initial/webhooks.ts'

/** Each table after those that it refers to. @param createTaps for an engine that keeps them in its own way */
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
