import type { Migration } from 'kysely'
import * as initial from '../migrations/0025-initial.ts'
import { initialSchema, migrations } from '../migrations/index.ts'
import { createTapsByMonth } from './tap-months.ts'

/** Those of SQLite, and what only this engine needs. Forward only. */
export const postgresMigrations: Record<string, Migration> = {
  ...migrations,
  [initialSchema]: { up: (db) => initial.up(db, createTapsByMonth) },
}
