import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { SecretBox } from '../data-dir/secret-box.ts'

/** By its table: the secret of one kind is none of the other. */
export type CredentialKind = 'apiKeys' | 'adminTokens'

/** What the columns of a credential allow, and to whom; only its revocation comes later. */
export interface CredentialGrant {
  /** Of API keys. */
  readonly teamId?: number | undefined
  readonly name: string
  readonly scopes: string
  readonly expiresAt: string | null
}

/** Without the data key, nobody can make a row that counts, or change one. */
export class CredentialMac {
  readonly #secrets: Uint8Array
  readonly #rows: Uint8Array

  constructor(box: SecretBox) {
    const derived = (purpose: string) =>
      new Uint8Array(box.withKey((key) => hkdfSync('sha256', key, '', purpose, 32)))
    this.#secrets = derived('tapchip credentials')
    this.#rows = derived('tapchip credential rows')
  }

  /** By which a secret is found. @param hash of the secret */
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
