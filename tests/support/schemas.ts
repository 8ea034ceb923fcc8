import type { Kysely, Migration } from 'kysely'
import { migrations } from '../../src/daemon/store/migrations/index.ts'
import { postgresMigrations } from '../../src/daemon/store/postgres/migrator.ts'

/** What a version after this one may bring. */
export const nextSchema = '9998-next'

/** The schema of this version. */
export const currentSchema = Object.keys(migrations).sort().at(-1) ?? ''

/** Until `withoutNext`, programs in this process know a migration more, on both engines. */
export function withNext(up: (db: Kysely<unknown>) => Promise<void> = async () => undefined): void {
  const next: Migration = { up }
  migrations[nextSchema] = next
  postgresMigrations[nextSchema] = next
}

export function withoutNext(): void {
  delete migrations[nextSchema]
  delete postgresMigrations[nextSchema]
}

/** Until the function that it returns is called, programs in this process are of the version before a migration. */
export function versionBefore(name: string): () => void {
  const later = [migrations, postgresMigrations].map(
    (all) => [all, Object.entries(all).filter(([one]) => one >= name)] as const,
  )
  for (const [all, kept] of later) for (const [one] of kept) delete all[one]
  return () => {
    for (const [all, kept] of later) Object.assign(all, Object.fromEntries(kept))
  }
}

/** Makes a database look as one from before the first migration that there is now. */
export const asOfBefore = `delete from kysely_migration;
  insert into kysely_migration (name, timestamp) values
    ('0001-initial', '2026-01-01T00:00:00.000Z'), ('0012-badge-contents', '2026-01-01T00:00:00.000Z'),
    ('0024-nodes', '2026-01-01T00:00:00.000Z')`

export const refusedAsOfBefore =
  /was made by an earlier version of Tapchip: it has the schema 0024-nodes, and this version reads none before 0025-initial\. Nothing was changed\. .*tapchip chips export.*docs\/daemon\.md/
