import type { Migration } from 'kysely'
import * as initial from './0025-initial.ts'
import * as chipTemplates from './0026-chip-templates.ts'
import * as relayersAndContracts from './0027-relayers-and-contracts.ts'
import * as credentials from './0028-credentials.ts'
import * as publicPages from './0029-public-pages.ts'
import * as reservations from './0030-reservations.ts'
import * as pageStrings from './0032-page-strings.ts'
import * as console from './0033-console.ts'
import * as keptBadges from './0034-kept-badges.ts'
import * as rareRows from './0035-rare-rows.ts'

/** The first migration. Earlier names belong to schemas that no version reads any more. */
export const initialSchema = '0025-initial'

/** Forward only, sorted by name. Never change a released migration. */
export const migrations: Record<string, Migration> = {
  [initialSchema]: { up: (db) => initial.up(db) },
  '0026-chip-templates': { up: (db) => chipTemplates.up(db) },
  '0027-relayers-and-contracts': { up: (db) => relayersAndContracts.up(db) },
  '0028-credentials': { up: (db) => credentials.up(db) },
  '0029-public-pages': { up: (db) => publicPages.up(db) },
  '0030-reservations': { up: (db) => reservations.up(db) },
  '0032-page-strings': { up: (db) => pageStrings.up(db) },
  '0033-console': { up: (db) => console.up(db) },
  '0034-kept-badges': { up: (db) => keptBadges.up(db) },
  '0035-rare-rows': { up: (db) => rareRows.up(db) },
}
