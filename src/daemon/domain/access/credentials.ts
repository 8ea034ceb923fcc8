import { allAdminTokens, allApiKeys } from '../../store/credentials.ts'
import type { Queries } from '../../store/database.ts'
import type { AdminTokenRow, ApiKeyRow } from '../../store/schema.ts'
import { DomainError } from '../errors.ts'
import { type Clock, iso } from '../time.ts'
import type { Scope } from './scopes.ts'
import { parseScopes } from './scopes.ts'
import { hashSecret, isWhole } from './secrets.ts'

export type { Actor } from '../../store/audit.ts'

export interface ApiKey {
  readonly id: number
  readonly name: string
  readonly teamId: number
  readonly scopes: readonly Scope[]
}

export interface AdminToken {
  readonly name: string
  readonly scopes: readonly Scope[]
  /** ISO 8601 */
  readonly expiresAt: string | null
}

/** Names the token that exists without being created. */
export const rootName = 'root'

type Held<Row> = { row: Row; scopes: readonly Scope[] }

/**
 * The credentials of the store, by their hashes, in memory: every request needs one, and this daemon is the
 * only process that changes them.
 */
export class Credentials {
  readonly #clock: Clock
  readonly #rootHashes: ReadonlySet<string>
  #apiKeys = new Map<string, Held<ApiKeyRow>>()
  #adminTokens = new Map<string, Held<AdminTokenRow>>()

  /** @param rootTokens tokens of scope `all` from a file or the environment */
  constructor(clock: Clock, rootTokens: readonly string[]) {
    this.#clock = clock
    this.#rootHashes = new Set(rootTokens.map(hashSecret))
  }

  async load(db: Queries): Promise<void> {
    this.#apiKeys = held(await allApiKeys(db))
    this.#adminTokens = held(await allAdminTokens(db))
  }

  /** @throws DomainError api_key_unknown, api_key_revoked, api_key_expired */
  apiKey(secret: string): ApiKey {
    const found = this.#apiKeys.get(hashSecret(secret))
    if (!found)
      throw new DomainError('api_key_unknown', `This API key is not known.${cutShort(secret, 'svc_')}`)
    const { row, scopes } = found
    if (row.revokedAt !== null)
      throw new DomainError('api_key_revoked', `The API key "${row.name}" was revoked. Ask for a new one.`)
    if (this.#isOver(row.expiresAt))
      throw new DomainError(
        'api_key_expired',
        `The API key "${row.name}" ended at ${row.expiresAt}. Ask for a new one.`,
      )
    return { id: row.id, name: row.name, teamId: row.teamId, scopes }
  }

  /** @throws DomainError admin_token_unknown, admin_token_revoked, admin_token_expired */
  adminToken(secret: string): AdminToken {
    const hash = hashSecret(secret)
    if (this.#rootHashes.has(hash)) return { name: rootName, scopes: ['all'], expiresAt: null }
    const found = this.#adminTokens.get(hash)
    if (!found)
      throw new DomainError(
        'admin_token_unknown',
        `This admin token is not known.${cutShort(secret, 'adm_')}`,
      )
    const { row, scopes } = found
    if (row.revokedAt !== null)
      throw new DomainError(
        'admin_token_revoked',
        `The admin token "${row.name}" was revoked. Ask for a new one.`,
      )
    if (this.#isOver(row.expiresAt))
      throw new DomainError(
        'admin_token_expired',
        `The admin token "${row.name}" ended at ${row.expiresAt}. Ask for a new one.`,
      )
    return { name: row.name, scopes, expiresAt: row.expiresAt }
  }

  #isOver(expiresAt: string | null): boolean {
    return expiresAt !== null && expiresAt <= iso(this.#clock.now())
  }
}

const cutShort = (secret: string, prefix: string): string =>
  secret.startsWith(prefix) && !isWhole(secret)
    ? ' It looks cut or mistyped: check that all of it was copied.'
    : ' Check which daemon it belongs to.'

function held<Row extends { hash: string; scopes: string }>(rows: readonly Row[]): Map<string, Held<Row>> {
  return new Map(rows.map((row) => [row.hash, { row, scopes: parseScopes(row.scopes) }]))
}
