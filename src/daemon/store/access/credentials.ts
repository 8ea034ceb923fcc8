import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { Insertable } from 'kysely'
import type { SecretBox } from '../data-dir/secret-box.ts'
import { noteChange } from '../database/changes.ts'
import type { Queries } from '../database/database.ts'
import { affected, statement } from '../database/statement.ts'
import type { CredentialRow, Database } from '../schema/schema.ts'

/** By table: a secret of one kind is not valid as the other. */
export type CredentialKind = 'apiKeys' | 'adminTokens'

const credentials = (db: Queries, kind: CredentialKind) => db.selectFrom(kind).selectAll()

export const allCredentials = (db: Queries, kind: CredentialKind) =>
  credentials(db, kind).orderBy('id').execute()

export const credentialsOfTeam = (db: Queries, kind: CredentialKind, teamId: number) =>
  credentials(db, kind).where('teamId', '=', teamId).orderBy('id').execute()

export const findCredential = (db: Queries, kind: CredentialKind, id: number) =>
  credentials(db, kind).where('id', '=', id).executeTakeFirst()

/** @param teamId undefined: of any team, and of all */
export const findLiveCredential = (db: Queries, kind: CredentialKind, name: string, teamId?: number) =>
  credentials(db, kind)
    .where('name', '=', name)
    .where('revokedAt', 'is', null)
    .$if(teamId !== undefined, (found) => found.where('teamId', '=', teamId ?? 0))
    .executeTakeFirst()

export const findCredentialByMac = (db: Queries, kind: CredentialKind, mac: string) =>
  credentials(db, kind).where('mac', '=', mac).executeTakeFirst()

export async function insertCredential(
  db: Queries,
  kind: CredentialKind,
  row: Insertable<Database['apiKeys']>,
): Promise<CredentialRow> {
  await noteChange(db, 'credentials')
  return db.insertInto(kind).values(row).returningAll().executeTakeFirstOrThrow()
}

/** @returns the revoked credential, or undefined if no active one has this ID */
export async function revokeCredential(
  db: Queries,
  kind: CredentialKind,
  { id, at }: { id: number; at: string },
): Promise<CredentialRow | undefined> {
  await noteChange(db, 'credentials')
  return db
    .updateTable(kind)
    .set({ revokedAt: at })
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

export interface CredentialUse {
  readonly kind: CredentialKind
  readonly id: number
  readonly at: string
  readonly from: string
}

const useOf = (kind: CredentialKind) =>
  statement<{ id: number; at: string; from: string }>()((db, p) =>
    db
      .updateTable(kind)
      .set({ lastUsedAt: p.at, lastUsedFrom: p.from })
      .where('id', '=', p.id)
      .where((eb) => eb.or([eb('lastUsedAt', 'is', null), eb('lastUsedAt', '<', p.at)])),
  )
const use = { apiKeys: useOf('apiKeys'), adminTokens: useOf('adminTokens') }

/** Keeps the newest use, and changes nothing that daemons cache. */
export async function recordUses(db: Queries, uses: readonly CredentialUse[]): Promise<void> {
  // In one order, so that daemons that record at the same time do not wait for each other in a circle.
  const sorted = uses.toSorted((a, b) => a.kind.localeCompare(b.kind) || a.id - b.id)
  for (const { kind, ...values } of sorted) await use[kind].run(db, values)
}

/** A new secret for a credential. @returns false if it was revoked or rolled meanwhile */
export async function rollCredential(
  db: Queries,
  kind: CredentialKind,
  { id, mac: seen }: Pick<CredentialRow, 'id' | 'mac'>,
  columns: Pick<
    CredentialRow,
    'hash' | 'mac' | 'seal' | 'hint' | 'rolledAt' | 'previousMac' | 'previousUntil' | 'previousSeal'
  >,
): Promise<boolean> {
  await noteChange(db, 'credentials')
  const rolled = db
    .updateTable(kind)
    .set(columns)
    .where('id', '=', id)
    .where('mac', '=', seen)
    .where('revokedAt', 'is', null)
  return (await affected(rolled)) === 1
}

/** The columns that define a credential's rights; only its revocation is added later. */
export interface CredentialGrant {
  /** null: all teams. */
  readonly teamId: number | null
  readonly name: string
  readonly scopes: string
  readonly expiresAt: string | null
}

export type PreviousSecret = Pick<CredentialRow, 'id' | 'seal' | 'previousMac' | 'previousUntil'>

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

  /** Binds the secret that a roll replaced, and its end, to the credential that it is for. */
  sealPrevious(kind: CredentialKind, row: PreviousSecret): string {
    const { id, seal, previousMac, previousUntil } = row
    return hmac(this.#rows, ['previous', kind, id, seal, previousMac, previousUntil]).toString('base64url')
  }

  #sealOf(
    kind: CredentialKind,
    mac: string | null,
    { teamId, name, scopes, expiresAt }: CredentialGrant,
  ): Buffer {
    // Daemons of the version before, which take every admin token as one for all teams, must refuse one of a team.
    const sort = kind === 'adminTokens' && teamId !== null ? 'adminTokens of teams' : kind
    return hmac(this.#rows, [sort, mac, teamId, name, scopes, expiresAt])
  }
}

const hmac = (key: Uint8Array, values: readonly unknown[]): Buffer =>
  createHmac('sha256', key).update(JSON.stringify(values)).digest()
