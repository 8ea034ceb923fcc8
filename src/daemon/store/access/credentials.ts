import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { SecretBox } from '../data-dir/secret-box.ts'
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

/** By table: a secret of one kind is not valid as the other. */
export type CredentialKind = 'apiKeys' | 'adminTokens'

/** The columns that define a credential's rights; only its revocation is added later. */
export interface CredentialGrant {
  /** Only for API keys. */
  readonly teamId?: number | undefined
  readonly name: string
  readonly scopes: string
  readonly expiresAt: string | null
}

/** Without the data key, nobody can make or change a valid row. */
export class CredentialMac {
  readonly #secrets: Uint8Array
  readonly #rows: Uint8Array

  constructor(box: SecretBox) {
    const derived = (purpose: string) =>
      new Uint8Array(box.withKey((key) => hkdfSync('sha256', key, '', purpose, 32)))
    this.#secrets = derived('tapchip credentials')
    this.#rows = derived('tapchip credential rows')
  }

  /** Finds a credential by its secret. @param hash of the secret */
  macOf(kind: CredentialKind, hash: string): string {
    return hmac(this.#secrets, [kind, hash]).toString('base64url')
  }

  sealOf(kind: CredentialKind, mac: string, granted: CredentialGrant): string {
    return this.#sealOf(kind, mac, granted).toString('base64url')
  }

  isSealed(
    kind: CredentialKind,
    row: CredentialGrant & { mac: string | null; seal: string | null },
  ): boolean {
    const mac = Buffer.from(row.seal ?? '', 'base64url')
    const expected = this.#sealOf(kind, row.mac, row)
    return row.mac !== null && mac.length === expected.length && timingSafeEqual(mac, expected)
  }

  #sealOf(
    kind: CredentialKind,
    mac: string | null,
    { teamId, name, scopes, expiresAt }: CredentialGrant,
  ): Buffer {
    return hmac(this.#rows, [kind, mac, teamId ?? null, name, scopes, expiresAt])
  }
}

const hmac = (key: Uint8Array, values: readonly unknown[]): Buffer =>
  createHmac('sha256', key).update(JSON.stringify(values)).digest()
