import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { hashCode } from '../codes/otps.ts'

// Device IDs and email addresses can be guessed, so a hash of them alone would tell who they are.

/** What is stored of a device. */
export const deviceHashOf = (box: SecretBox, deviceId: string): string =>
  box.keyedHash(hashCode(deviceId), 'badgeClaims:device')

/** What remains of an email address once it is no longer kept. */
export const hiddenEmail =
  (box: SecretBox) =>
  (email: string): string =>
    `email:${box.keyedHash(email.toLowerCase(), 'badgeClaims:email')}`

/** Under which the badges of a recipient are counted. @param recipient an address or an email address, in any case */
export const recipientKey = (box: SecretBox, recipient: string): string =>
  recipient.includes('@') ? hiddenEmail(box)(recipient) : recipient.toLowerCase()

/** The same person, also once the address is no longer kept. */
export const isRecipient = (box: SecretBox, stored: string, recipient: string): boolean =>
  stored.toLowerCase() === recipient.toLowerCase() || stored === hiddenEmail(box)(recipient)
