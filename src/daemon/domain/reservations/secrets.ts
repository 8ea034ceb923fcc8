import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { hashCode } from '../codes/otps.ts'
import { DomainError } from '../errors/errors.ts'

// Codes and links are derived when their mail is sent, so the database has neither: only the nonce, which is worth
// nothing without the data key.

export const newNonce = (): string => randomBytes(16).toString('base64url')

function derived(box: SecretBox, purpose: 'code' | 'link', nonce: string): Buffer {
  const key = box.withKey(
    (data) => new Uint8Array(hkdfSync('sha256', data, '', `reservation ${purpose}`, 32)),
  )
  return createHmac('sha256', key).update(nonce).digest()
}

/** Six digits. */
export const codeOf = (box: SecretBox, nonce: string): string =>
  String(derived(box, 'code', nonce).readUIntBE(0, 6) % 1_000_000).padStart(6, '0')

/** Entered codes that are compared with one mail's. */
export const maxTries = 5

/** Takes as long for a wrong code as for the right one. @param entered as typed: blanks and dashes do not count */
export function isCode(box: SecretBox, nonce: string, entered: string): boolean {
  const digits = Buffer.alloc(6)
  const text = entered.replace(/[\s-]/g, '')
  digits.write(text, 'latin1')
  return timingSafeEqual(digits, Buffer.from(codeOf(box, nonce))) && text.length === 6
}

/** The secret part of a link: 32 characters. */
export const linkOf = (box: SecretBox, nonce: string): string =>
  derived(box, 'link', nonce).subarray(0, 24).toString('base64url')

export const linkHashOf = hashCode

const contextOf = (tapId: number): string => `reservation of tap ${tapId}`

export const sealAddress = (box: SecretBox, tapId: number, address: string): Buffer =>
  box.seal(Buffer.from(address), contextOf(tapId))

export const openAddress = (box: SecretBox, tapId: number, sealed: Uint8Array): string =>
  box.open(sealed, contextOf(tapId)).toString()

/** The same for all spellings of one mailbox: case, and what many servers ignore after a plus sign. */
export const addressHashOf = (box: SecretBox, address: string): string =>
  box.keyedHash(address.toLowerCase().replace(/\+[^@]*(?=@)/, ''), 'reservations:address')

/**
 * Parses what a person typed; the domain as DNS has it. Nothing that could be another header, a second recipient, or a
 * command passes. @throws DomainError recipient_invalid
 */
export function emailAddress(input: string): string {
  const text = input.trim().normalize('NFC')
  const at = text.lastIndexOf('@')
  const [local, written] = [text.slice(0, at), text.slice(at + 1)]
  const domain = /^[\p{L}\p{M}\p{N}.-]{1,253}$/u.test(written) ? domainToASCII(written) : ''
  const isSound =
    at > 0 &&
    text.length <= 254 &&
    /^[^\s@"(),:;<>[\\\]\p{C}\p{Z}]{1,64}$/u.test(local) &&
    !/^\.|\.\.|\.$/.test(local) &&
    /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/.test(domain) &&
    !/^[\d.]+$/.test(domain)
  if (isSound && Buffer.byteLength(`${local}@${domain}`) <= 254) return `${local}@${domain}`
  throw new DomainError('recipient_invalid', 'This is not an e-mail address. Nothing was sent.', {
    errors: { email: 'is not an e-mail address' },
  })
}
