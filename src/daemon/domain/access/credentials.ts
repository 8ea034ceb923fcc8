import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import { parseScopes, type Scope } from '../../../values/scopes.ts'
import {
  allAdminTokens,
  allApiKeys,
  type CredentialGrant,
  type CredentialKind,
  CredentialMac,
} from '../../store/access/credentials.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { DatabaseUnavailable, type Queries } from '../../store/database/database.ts'
import { LoadOrder } from '../../store/database/load-order.ts'
import type { AdminTokenRow, ApiKeyRow } from '../../store/schema/schema.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'

export type { Actor } from '../../store/audit/audit.ts'

export interface ApiKey {
  readonly id: number
  readonly name: string
  readonly teamId: number
  readonly scopes: readonly Scope[]
}

export interface AdminToken {
  /** 0: the root token. */
  readonly id: number
  readonly name: string
  readonly scopes: readonly Scope[]
  /** ISO 8601 */
  readonly expiresAt: string | null
}

/** The root token, which exists without being created. */
export const rootName = 'root'

type CachedCredential<Row> = { row: Row; scopes: readonly Scope[] }

/** Credentials by HMAC, in memory because every request needs one. */
export class Credentials {
  readonly #clock: Clock
  readonly #rootHashes: ReadonlySet<string>
  readonly #macs: CredentialMac
  readonly #log: Pick<Logger, 'error'>
  readonly #told = new Set<string>()
  readonly #order = new LoadOrder()
  #isCurrent = (): boolean => true
  #apiKeys = new Map<string, CachedCredential<ApiKeyRow>>()
  #adminTokens = new Map<string, CachedCredential<AdminTokenRow>>()

  /** @param rootTokens tokens of scope `all`, from a file or the environment */
  constructor(clock: Clock, box: SecretBox, rootTokens: readonly string[], log: Pick<Logger, 'error'>) {
    this.#clock = clock
    this.#macs = new CredentialMac(box)
    this.#log = log
    this.#rootHashes = new Set(rootTokens.map(hashSecret))
  }

  async load(db: Queries): Promise<void> {
    const isNewest = this.#order.begin()
    const apiKeys = this.#held('apiKeys', await allApiKeys(db))
    const adminTokens = this.#held('adminTokens', await allAdminTokens(db))
    if (!isNewest()) return
    this.#apiKeys = apiKeys
    this.#adminTokens = adminTokens
  }

  /** The key by which a secret is found in the store. */
  macOf(kind: CredentialKind, secret: string): string {
    return this.#macs.macOf(kind, hashSecret(secret))
  }

  /** Returns the columns of a new credential with these permissions. */
  stored<Columns extends CredentialGrant>(kind: CredentialKind, secret: string, granted: Columns) {
    const mac = this.macOf(kind, secret)
    return { ...granted, hash: mac, mac, seal: this.#macs.sealOf(kind, mac, granted) }
  }

  /**
   * Other daemons change credentials too. @param isCurrent false: the data is so old that a revocation may be missing
   */
  cachedWhileFresh(isCurrent: () => boolean): void {
    this.#isCurrent = isCurrent
  }

  /** Omits rows that were not written with the data key, and logs that once. */
  #held<Row extends ApiKeyRow | AdminTokenRow>(
    kind: CredentialKind,
    rows: readonly Row[],
  ): Map<string, CachedCredential<Row>> {
    const byMac = new Map<string, CachedCredential<Row>>()
    for (const row of rows)
      if (row.mac !== null && this.#macs.isSealed(kind, row))
        byMac.set(row.mac, { row, scopes: parseScopes(row.scopes) })
      else if (row.revokedAt === null) this.#refuse(kind, row.id)
    return byMac
  }

  #refuse(kind: CredentialKind, id: number): void {
    const which = `${kind} ${id}`
    if (this.#told.has(which)) return
    this.#told.add(which)
    this.#log.error(
      { kind, id },
      'a credential was made or changed outside the daemon: it is not accepted. Find out who can write to the database, revoke the credential, and create another one',
    )
  }

  /** @throws DomainError api_key_unknown, api_key_revoked, api_key_expired; DatabaseUnavailable */
  apiKey(secret: string): ApiKey {
    const { row, scopes } = this.#live(this.#apiKeys, secret, { code: 'api_key', name: 'API key' })
    return { id: row.id, name: row.name, teamId: row.teamId, scopes }
  }

  /** @throws DomainError admin_token_unknown, admin_token_revoked, admin_token_expired; DatabaseUnavailable */
  adminToken(secret: string): AdminToken {
    if (this.#rootHashes.has(hashSecret(secret)))
      return { id: 0, name: rootName, scopes: ['all'], expiresAt: null }
    const { row, scopes } = this.#live(this.#adminTokens, secret, {
      code: 'admin_token',
      name: 'admin token',
    })
    return { id: row.id, name: row.name, scopes, expiresAt: row.expiresAt }
  }

  #live<Row extends ApiKeyRow | AdminTokenRow>(
    held: ReadonlyMap<string, CachedCredential<Row>>,
    secret: string,
    { code, name }: { code: 'api_key' | 'admin_token'; name: string },
  ): CachedCredential<Row> {
    if (!this.#isCurrent())
      throw new DatabaseUnavailable('Recent revocations are unknown: it has not reported changes for a while')
    const found = held.get(this.macOf(code === 'api_key' ? 'apiKeys' : 'adminTokens', secret))
    if (!found) throw new DomainError(`${code}_unknown`, `This ${name} is not known.${hintFor(secret, code)}`)
    const { row } = found
    if (row.revokedAt !== null)
      throw new DomainError(`${code}_revoked`, `The ${name} "${row.name}" was revoked. Ask for a new one.`)
    if (row.expiresAt !== null && row.expiresAt <= iso(this.#clock.now()))
      throw new DomainError(
        `${code}_expired`,
        `The ${name} "${row.name}" expired at ${row.expiresAt}. Ask for a new one.`,
      )
    return found
  }
}

const hintFor = (secret: string, code: 'api_key' | 'admin_token'): string =>
  secret.startsWith(code === 'api_key' ? 'svc_' : 'adm_') && !isWhole(secret)
    ? ' It looks truncated or mistyped: check that you copied all of it.'
    : ' Check which daemon it belongs to.'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 32
const checksumLength = 6

/** 32 random characters and a checksum of six, which reveals typos and lets scanners recognize leaked secrets. */
export function newSecret(prefix: 'svc' | 'adm'): string {
  let random = ''
  while (random.length < randomLength) {
    // 248 is the last multiple of 62 below 256: larger bytes would favor some characters.
    for (const byte of randomBytes(64))
      if (byte < 248 && random.length < randomLength) random += alphabet[byte % 62]
  }
  return `${prefix}_${random}${checksum(random)}`
}

/** False for a truncated or mistyped secret. Keys from a seed need not pass. */
function isWhole(secret: string): boolean {
  const body = secret.slice(secret.indexOf('_') + 1)
  const random = body.slice(0, randomLength)
  return body.length === randomLength + checksumLength && body.slice(randomLength) === checksum(random)
}

function checksum(text: string): string {
  let rest = crc32(text)
  let out = ''
  for (let i = 0; i < checksumLength; i++) {
    out = `${alphabet[rest % 62]}${out}`
    rest = Math.floor(rest / 62)
  }
  return out
}

/** For memory only; the store has an HMAC of it. */
const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex')

/** Enough to tell keys apart in a list, but never enough to use one. */
export const hintOf = (secret: string): string => `${secret.slice(0, secret.length < 20 ? 1 : 7)}…`
