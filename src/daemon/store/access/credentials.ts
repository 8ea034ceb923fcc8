import type { Insertable } from 'kysely'
import { noteChange } from '../database/changes.ts'
import type { Queries } from '../database/database.ts'
import type { AdminTokenRow, AdminTokensTable, ApiKeyRow, ApiKeysTable } from '../schema/schema.ts'

const apiKeys = (db: Queries) => db.selectFrom('apiKeys').selectAll()

export const allApiKeys = (db: Queries) => apiKeys(db).orderBy('id').execute()

export const apiKeysOfTeam = (db: Queries, teamId: number) =>
  apiKeys(db).where('teamId', '=', teamId).orderBy('id').execute()

export const findApiKey = (db: Queries, id: number) => apiKeys(db).where('id', '=', id).executeTakeFirst()

export const findLiveApiKey = (db: Queries, teamId: number, name: string) =>
  apiKeys(db)
    .where('teamId', '=', teamId)
    .where('name', '=', name)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()

export const findApiKeyByMac = (db: Queries, mac: string) =>
  apiKeys(db).where('mac', '=', mac).executeTakeFirst()

export async function insertApiKey(db: Queries, key: Insertable<ApiKeysTable>): Promise<ApiKeyRow> {
  await noteChange(db, 'credentials')
  return db.insertInto('apiKeys').values(key).returningAll().executeTakeFirstOrThrow()
}

/** @returns the revoked key, or undefined if no active key has this ID */
export async function revokeApiKey(db: Queries, id: number, at: string): Promise<ApiKeyRow | undefined> {
  await noteChange(db, 'credentials')
  return db
    .updateTable('apiKeys')
    .set({ revokedAt: at })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

const adminTokens = (db: Queries) => db.selectFrom('adminTokens').selectAll()

export const allAdminTokens = (db: Queries) => adminTokens(db).orderBy('id').execute()

export const findAdminToken = (db: Queries, id: number) =>
  adminTokens(db).where('id', '=', id).executeTakeFirst()

export const findLiveAdminToken = (db: Queries, name: string) =>
  adminTokens(db).where('name', '=', name).where('revokedAt', 'is', null).executeTakeFirst()

export async function insertAdminToken(
  db: Queries,
  token: Insertable<AdminTokensTable>,
): Promise<AdminTokenRow> {
  await noteChange(db, 'credentials')
  return db.insertInto('adminTokens').values(token).returningAll().executeTakeFirstOrThrow()
}

/** @returns the revoked token, or undefined if no active token has this ID */
export async function revokeAdminToken(
  db: Queries,
  id: number,
  at: string,
): Promise<AdminTokenRow | undefined> {
  await noteChange(db, 'credentials')
  return db
    .updateTable('adminTokens')
    .set({ revokedAt: at })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
}
