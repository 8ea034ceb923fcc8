import { createHmac, hkdfSync } from 'node:crypto'
import type { SecretBox } from './secret-box.ts'

/** @returns what makes of a secret's hash the HMAC that is stored: without the data key, nobody can make a row that counts */
export function credentialMac(box: SecretBox): (hash: string) => string {
  const key = new Uint8Array(
    box.withKey((secret) => hkdfSync('sha256', secret, '', 'tapchip credentials', 32)),
  )
  return (hash) => createHmac('sha256', key).update(hash).digest('base64url')
}
