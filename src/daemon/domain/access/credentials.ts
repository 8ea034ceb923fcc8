import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Logger } from 'pino'
import { parseScopes, type Scope } from '../../../values/scopes.ts'
import {
  allCredentials,
  type CredentialGrant,
  type CredentialKind,
  CredentialMac,
} from '../../store/access/credentials.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { DatabaseUnavailable, type Db, type Queries } from '../../store/database/database.ts'
import { LoadOrder } from '../../store/database/load-order.ts'
import type { CredentialRow } from '../../store/schema/schema.ts'
import { DomainError } from '../errors/errors.ts'
import { type Clock, iso } from '../time/time.ts'
import { CredentialUses } from './credential-uses.ts'

export type { Actor } from '../../store/audit/audit.ts'

export type { CredentialKind }

/** Who asks, for which team, with which scopes: an API key or an admin token. */
export interface Credential {
  readonly kind: CredentialKind
  /** 0: the root token. */
  readonly id: number
  readonly name: string
  /** null: all teams. */
  readonly teamId: number | null
  readonly scopes: readonly Scope[]
  /** ISO 8601 */
  readonly expiresAt: string | null
}

/** The root token, which exists without being created. */
export const rootName = 'root'

const root: Credential = {
  kind: 'adminTokens',
  id: 0,
  name: rootName,
  teamId: null,
  scopes: ['all'],
  expiresAt: null,
}

const kinds = {
  apiKeys: { code: 'api_key', noun: 'API key', prefix: 'svc' },
  adminTokens: { code: 'admin_token', noun: 'admin token', prefix: 'adm' },
} as const

export const nounOf = (kind: CredentialKind): string => kinds[kind].noun

/** At the beginning of a sentence. */
export const titleOf = ({ kind, name }: Pick<Credential, 'kind' | 'name'>): string =>
  `The ${nounOf(kind)} "${name}"`

/** Permanent, since names can be used again: `key 3`, `token 0`. */
export const credentialId = ({ kind, id }: Pick<Credential, 'kind' | 'id'>): string =>
  `${kind === 'apiKeys' ? 'key' : 'token'} ${id}`

interface CachedCredential {
  readonly credential: Credential
  readonly revokedAt: string | null
  /** Set for the secret that a roll replaced: how long it lives on. */
  readonly until?: string
}

/** Credentials by HMAC, in memory because every request needs one. */
export class Credentials {
  readonly #clock: Clock
  #rootHashes: ReadonlySet<string> = new Set()
  readonly #macs: CredentialMac
  readonly #log: Pick<Logger, 'error'>
  readonly #told = new Set<string>()
  readonly #order = new LoadOrder()
  #isCurrent = (): boolean => true
  #byMac = new Map<string, CachedCredential>()

  readonly uses: CredentialUses

  /** @param rootTokens tokens of scope `all`, from a file or the environment */
  constructor(
    { clock, box, log, db }: { clock: Clock; box: SecretBox; log: Logger; db: Pick<Db, 'write'> },
    rootTokens: readonly string[],
  ) {
    this.#clock = clock
    this.uses = new CredentialUses(db, clock, (err) =>
      log.warn({ err }, 'the last uses of credentials could not be stored'),
    )
    this.#macs = new CredentialMac(box)
    this.#log = log
    this.setRootTokens(rootTokens)
  }

  /** Others end at once. */
  setRootTokens(tokens: readonly string[]): void {
    this.#rootHashes = new Set(tokens.map(hashSecret))
  }

  async load(db: Queries): Promise<void> {
    const isNewest = this.#order.begin()
    const byMac = new Map<string, CachedCredential>()
    for (const kind of ['apiKeys', 'adminTokens'] as const)
      this.#add(byMac, kind, await allCredentials(db, kind))
    if (isNewest()) this.#byMac = byMac
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

  /** Returns the columns that replace the secret of a credential, whose old one lives until then. */
  rolled(kind: CredentialKind, row: CredentialRow, secret: string, previousUntil: string) {
    const { hash, mac, seal } = this.stored(kind, secret, row)
    const previous = { id: row.id, seal, previousMac: row.mac, previousUntil }
    const previousSeal = this.#macs.sealPrevious(kind, previous)
    return { hash, mac, seal, previousMac: row.mac, previousUntil, previousSeal }
  }

  /**
   * Other daemons change credentials too. @param isCurrent false: the data is so old that a revocation may be missing
   */
  cachedWhileFresh(isCurrent: () => boolean): void {
    this.#isCurrent = isCurrent
  }

  /** Omits rows that were not written with the data key, and logs that once. */
  #add(byMac: Map<string, CachedCredential>, kind: CredentialKind, rows: readonly CredentialRow[]): void {
    for (const row of rows) {
      const { id, name, teamId, expiresAt, revokedAt, mac } = row
      if (mac === null || !this.#macs.isSealed(kind, row)) {
        if (revokedAt === null) this.#refuse(kind, id)
        continue
      }
      const scopes = parseScopes(row.scopes)
      const cached = { credential: { kind, id, name, teamId, scopes, expiresAt }, revokedAt }
      byMac.set(mac, cached)
      const { previousMac, previousUntil: until } = row
      if (previousMac === null || until === null) continue
      if (row.previousSeal === this.#macs.sealPrevious(kind, row))
        byMac.set(previousMac, { ...cached, until })
      else if (revokedAt === null) this.#refuse(kind, id)
    }
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

  /** @throws DomainError with a code of 401; DatabaseUnavailable */
  find(kind: CredentialKind, secret: string): Credential {
    const { code, noun } = kinds[kind]
    if (kind === 'adminTokens' && this.#rootHashes.has(hashSecret(secret))) return root
    if (!this.#isCurrent())
      throw new DatabaseUnavailable('Recent revocations are unknown: it has not reported changes for a while')
    const found = this.#byMac.get(this.macOf(kind, secret))
    if (!found) throw new DomainError(`${code}_unknown`, `This ${noun} is not known.${hintFor(secret, kind)}`)
    const { credential, revokedAt, until } = found
    const { name, expiresAt } = credential
    if (revokedAt !== null)
      throw new DomainError(`${code}_revoked`, `The ${noun} "${name}" was revoked. Ask for a new one.`)
    const now = expiresAt === null && until === undefined ? '' : iso(this.#clock.now())
    if (expiresAt !== null && expiresAt <= now)
      throw new DomainError(
        `${code}_expired`,
        `The ${noun} "${name}" expired at ${expiresAt}. Ask for a new one.`,
      )
    if (until !== undefined && until <= now)
      throw new DomainError(
        `${code}_expired`,
        `The ${noun} "${name}" has a new secret, and this one ended at ${until}. Ask for the new one.`,
      )
    return credential
  }
}

const hintFor = (secret: string, kind: CredentialKind): string =>
  secret.startsWith(`${kinds[kind].prefix}_`) && !isWhole(secret)
    ? ' It looks truncated or mistyped: check that you copied all of it.'
    : ' Check which daemon it belongs to.'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const randomLength = 32
const checksumLength = 6

/** 32 random characters and a checksum of six, which reveals typos and lets scanners recognize leaked secrets. */
export function newSecret(kind: CredentialKind): string {
  let random = ''
  while (random.length < randomLength) {
    // 248 is the last multiple of 62 below 256: larger bytes would favor some characters.
    for (const byte of randomBytes(64))
      if (byte < 248 && random.length < randomLength) random += alphabet[byte % 62]
  }
  return `${kinds[kind].prefix}_${random}${checksum(random)}`
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
