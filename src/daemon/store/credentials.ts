import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { AdminTokenRow, AdminTokensTable, ApiKeyRow, ApiKeysTable } from './schema.ts'

export const allApiKeys = (db: Queries): Promise<ApiKeyRow[]> => db.selectFrom('apiKeys').selectAll().orderBy('id').execute()

export const insertApiKey = (db: Queries, key: Insertable<ApiKeysTable>): Promise<ApiKeyRow> =>
  db.insertInto('apiKeys').values(key).returningAll().executeTakeFirstOrThrow()

export async function revokeApiKey(db: Queries, id: number, at: string): Promise<ApiKeyRow | undefined> {
  return db
    .updateTable('apiKeys')
    .set({ revokedAt: at })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export const allAdminTokens = (db: Queries): Promise<AdminTokenRow[]> =>
  db.selectFrom('adminTokens').selectAll().orderBy('id').execute()

export const insertAdminToken = (db: Queries, token: Insertable<AdminTokensTable>): Promise<AdminTokenRow> =>
  db.insertInto('adminTokens').values(token).returningAll().executeTakeFirstOrThrow()

export async function revokeAdminToken(db: Queries, id: number, at: string): Promise<AdminTokenRow | undefined> {
  return db
    .updateTable('adminTokens')
    .set({ revokedAt: at })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
}
