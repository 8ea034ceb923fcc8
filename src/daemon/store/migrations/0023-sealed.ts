import type { Kysely } from 'kysely'
import { sealOfConnection, sealSince } from '../audit-head.ts'
import { type CredentialKind, CredentialMac, type Granted } from '../credential-mac.ts'
import { engineOf, type Queries } from '../database.ts'

/**
 * The log says since when it is sealed, and credentials are recognized by HMACs under the data key. Those that there are
 * get theirs here and nowhere else: whoever adds or edits a row by hand has no credential.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['sealedSince', 'sinceSeal'])
    await db.schema.alterTable('auditHead').addColumn(column, 'text').execute()
  await sealSince(db as unknown as Queries, new Date().toISOString())
  for (const table of ['apiKeys', 'adminTokens'] as const) {
    for (const column of ['mac', 'seal'])
      await db.schema.alterTable(table).addColumn(column, 'text').execute()
    await db.schema.createIndex(`${table}ByMac`).on(table).column('mac').unique().execute()
    await authenticate(db, table)
  }
}

type Row = Granted & { id: number; hash: string; mac: string | null; seal: string | null }

async function authenticate(db: Kysely<unknown>, table: CredentialKind): Promise<void> {
  const audit = sealOfConnection(db)
  if (!audit) return
  const macs = new CredentialMac(audit.box)
  const hashed = db.withTables<Record<typeof table, Row>>()
  for (const row of await hashed.selectFrom(table).selectAll().execute()) {
    const mac = macs.macOf(table, row.hash)
    const seal = macs.sealOf(table, mac, row)
    // On a server, daemons of the version before may still serve, and know credentials by their hash.
    const isShared = engineOf(db as unknown as Queries).isShared
    await hashed
      .updateTable(table)
      .set(isShared ? { mac, seal } : { mac, seal, hash: mac })
      .where('id', '=', row.id)
      .execute()
  }
}
