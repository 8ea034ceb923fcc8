import type { Insertable } from 'kysely'
import type { Queries } from './database.ts'
import type { AdminTokenRow, AdminTokensTable, ApiKeyRow, ApiKeysTable } from './schema.ts'

export const allApiKeys = (db: Queries): Promise<ApiKeyRow[]> =>
  db.selectFrom('apiKeys').selectAll().orderBy('id').execute()

export const apiKeysOfTeam = (db: Queries, teamId: number): Promise<ApiKeyRow[]> =>
  db.selectFrom('apiKeys').selectAll().where('teamId', '=', teamId).orderBy('id').execute()

export const findApiKey = (db: Queries, id: number): Promise<ApiKeyRow | undefined> =>
  db.selectFrom('apiKeys').selectAll().where('id', '=', id).executeTakeFirst()

/** A key of this name that is not revoked. */
export const findLiveApiKey = (db: Queries, teamId: number, name: string): Promise<ApiKeyRow | undefined> =>
  db
    .selectFrom('apiKeys')
    .selectAll()
    .where('teamId', '=', teamId)
    .where('name', '=', name)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()

export const findApiKeyOfHash = (db: Queries, hash: string): Promise<ApiKeyRow | undefined> =>
  db.selectFrom('apiKeys').selectAll().where('hash', '=', hash).executeTakeFirst()

export const insertApiKey = (db: Queries, key: Insertable<ApiKeysTable>): Promise<ApiKeyRow> =>
  db.insertInto('apiKeys').values(key).returningAll().executeTakeFirstOrThrow()

/** The key as it is now, or undefined where none of this id was in force. */
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

export const findAdminToken = (db: Queries, id: number): Promise<AdminTokenRow | undefined> =>
  db.selectFrom('adminTokens').selectAll().where('id', '=', id).executeTakeFirst()

/** A token of this name that is not revoked. */
export const findLiveAdminToken = (db: Queries, name: string): Promise<AdminTokenRow | undefined> =>
  db
    .selectFrom('adminTokens')
    .selectAll()
    .where('name', '=', name)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()

export const insertAdminToken = (db: Queries, token: Insertable<AdminTokensTable>): Promise<AdminTokenRow> =>
  db.insertInto('adminTokens').values(token).returningAll().executeTakeFirstOrThrow()

export async function revokeAdminToken(
  db: Queries,
  id: number,
  at: string,
): Promise<AdminTokenRow | undefined> {
  return db
    .updateTable('adminTokens')
    .set({ revokedAt: at })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
}
