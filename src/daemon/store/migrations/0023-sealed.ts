import type { Kysely } from 'kysely'
import { sealOfConnection, sealSince } from '../audit-head.ts'
import { credentialMac } from '../credential-mac.ts'
import { engineOf, type Queries } from '../database.ts'

/**
 * The log says since when it is sealed, and credentials are recognized by HMACs under the data key. Those that there are
 * get theirs here and nowhere else: whoever adds a row by hand has no credential.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['sealedSince', 'sinceSeal'])
    await db.schema.alterTable('auditHead').addColumn(column, 'text').execute()
  await sealSince(db as unknown as Queries, new Date().toISOString())
  for (const table of ['apiKeys', 'adminTokens'] as const) {
    await db.schema.alterTable(table).addColumn('mac', 'text').execute()
    await db.schema.createIndex(`${table}ByMac`).on(table).column('mac').unique().execute()
    await authenticate(db, table)
  }
}

async function authenticate(db: Kysely<unknown>, table: 'apiKeys' | 'adminTokens'): Promise<void> {
  const seal = sealOfConnection(db)
  if (!seal) return
  const macOf = credentialMac(seal.box)
  const hashed = db.withTables<Record<typeof table, { id: number; hash: string; mac: string | null }>>()
  for (const { id, hash } of await hashed.selectFrom(table).select(['id', 'hash']).execute()) {
    const mac = macOf(hash)
    // On a server, daemons of the version before may still serve, and know credentials by their hash.
    const isShared = engineOf(db as unknown as Queries).isShared
    await hashed
      .updateTable(table)
      .set(isShared ? { mac } : { mac, hash: mac })
      .where('id', '=', id)
      .execute()
  }
}
