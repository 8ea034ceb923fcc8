import type { Chains } from '../../chain/chains.ts'
import { devChainId } from '../../chain/dev-chain/dev-keys.ts'
import { type Recipient, readRecipient } from '../../chain/names/recipient.ts'
import { RecipientInvalid } from '../../chain/names/resolver.ts'
import type { SecretBox } from '../../store/data-dir/secret-box.ts'
import { type Asker, type Names, resolveRecipient } from '../chain/recipients.ts'
import { hashCode } from '../codes/otps.ts'
import { DomainError } from '../errors/errors.ts'

const ethereum = 1
/** POAP mints on this chain. */
const gnosis = 100

type Deps = { names: Names; chains: Pick<Chains, 'has'> }

/**
 * @returns an address (EIP-55), a normalized ENS name (POAP resolves it itself), or an e-mail address @throws
 * DomainError recipient_invalid, chain_unavailable
 */
export async function badgeRecipient(
  deps: Deps,
  requester: Asker,
  input: string,
  isAtPoap: boolean,
): Promise<string> {
  const text = input.trim()
  if (text.includes('@')) return emailAddress(text)
  const read = readAs(text, isAtPoap ? gnosis : undefined)
  if (read.kind === 'address') return read.address
  if (isAtPoap) return read.name
  return resolveRecipient(deps, requester, deps.chains.has(devChainId) ? devChainId : ethereum, text)
}

function readAs(text: string, chainId: number | undefined): Recipient {
  try {
    return readRecipient(text, chainId)
  } catch (cause) {
    if (!(cause instanceof RecipientInvalid)) throw cause
    throw unsupportedRecipient(cause.message, cause)
  }
}

function emailAddress(text: string): string {
  const [local = '', domain = ''] = [
    text.slice(0, text.lastIndexOf('@')),
    text.slice(text.lastIndexOf('@') + 1),
  ]
  const isSound =
    text.length <= 254 &&
    /^[^\s@"(),:;<>[\\\]\p{Cc}]{1,64}$/u.test(local) &&
    /^([\p{L}\p{N}]([\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u.test(domain)
  if (isSound) return text
  throw unsupportedRecipient(`${JSON.stringify(text.slice(0, 100))} is not an e-mail address`)
}

const unsupportedRecipient = (what: string, cause?: unknown): DomainError =>
  new DomainError('recipient_invalid', `recipient: ${what}. Nothing was used up.`, {
    errors: { recipient: 'is not valid' },
    cause,
  })

// Device IDs and email addresses can be guessed, so their plain hashes would reveal them.

/** The stored form of a device ID. */
export const deviceHashOf = (box: SecretBox, deviceId: string): string =>
  box.keyedHash(hashCode(deviceId), 'badgeClaims:device')

/** Replaces an email address once it is no longer kept. */
export const hiddenEmail =
  (box: SecretBox) =>
  (email: string): string =>
    `email:${box.keyedHash(email.toLowerCase(), 'badgeClaims:email')}`

/**
 * The key under which a recipient's badges are counted. @param recipient an address or an email address, in any case
 */
export const recipientKey = (box: SecretBox, recipient: string): string =>
  recipient.includes('@') ? hiddenEmail(box)(recipient) : recipient.toLowerCase()

/** Keys of the same person, including those used after the address is deleted. */
export const isRecipient = (box: SecretBox, stored: string, recipient: string): boolean =>
  stored.toLowerCase() === recipient.toLowerCase() || stored === hiddenEmail(box)(recipient)
