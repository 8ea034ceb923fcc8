import { CompiledQuery, type Kysely } from 'kysely'
import { type ChainedEntry, chainStart, hashOfEntry } from '../../../values/audit-chain.ts'
import { beginAuditHead } from '../audit-head.ts'
import { optional, required, strict } from './columns.ts'

const rowsAtOnce = 500

/** Chains the entries that there are, and seals their head if the data key is known here. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit').addColumn('hash', 'text').execute()
  await db.schema
    .createTable('auditHead')
    .addColumn('id', 'integer', (c) => c.primaryKey().notNull())
    .$call(required('integer', 'entries lastId'))
    .$call(required('text', 'hash'))
    .$call(optional('text', 'seal'))
    .modifyEnd(strict)
    .execute()
  const head = { entries: 0, lastId: 0, hash: chainStart }
  const page = () =>
    db
      .withTables<{ audit: ChainedEntry }>()
      .selectFrom('audit')
      .select(['id', 'at', 'actor', 'teamId', 'action', 'target', 'detail', 'requestId', 'batch'])
      .where('id', '>', head.lastId)
      .orderBy('id')
      .limit(rowsAtOnce)
      .execute()
  const { sql } = db
    .withTables<{ audit: { id: number; hash: string } }>()
    .updateTable('audit')
    .set({ hash: '' })
    .where('id', '=', 0)
    .compile()
  for (let rows = await page(); rows.length > 0; rows = await page()) {
    for (const row of rows) {
      const hash = hashOfEntry(head.hash, row)
      await db.executeQuery(CompiledQuery.raw(sql, [hash, row.id]))
      Object.assign(head, { entries: head.entries + 1, lastId: row.id, hash })
    }
  }
  await beginAuditHead(db, head)
}
