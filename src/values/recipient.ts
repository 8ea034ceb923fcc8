import { withoutChainPrefix } from './chain-prefix.ts'
import { tidyCell } from './invisible.ts'

/** An address without 0x, or an unresolved ENS name. */
type RecipientForm =
  | { readonly kind: 'address'; readonly digits: string }
  | { readonly kind: 'name'; readonly name: string }

interface RecipientProblem {
  /** Can follow the text in quotes. */
  readonly reason: string
  /** It names another chain, or one that is not known. */
  readonly isOfChain?: true
}

// The limit of DNS encoding, and therefore of ENS names.
const maxLength = 255

/**
 * Checks only the form of a recipient. The daemon checks an address's checksum and a name's normalization (ENSIP-15),
 * which need tables and hashes.
 * @param chainId the token's chain; undefined: not known here, so that an address may name any
 */
export function readRecipient(input: string, chainId?: number): RecipientForm | RecipientProblem {
  const trimmedInput = tidyCell('recipient', input)
  if (trimmedInput === '') return { reason: 'is empty: give an address (0x…) or an ENS name' }
  if (trimmedInput.length > maxLength)
    return { reason: `has ${trimmedInput.length} characters, which is too long for an address or a name` }
  const prefixed = withoutChainPrefix(trimmedInput, chainId)
  if (prefixed !== undefined && 'reason' in prefixed) return { ...prefixed, isOfChain: true }
  const text = prefixed?.address ?? trimmedInput
  // With a dot it is a name, such as 0xabc.eth.
  if (/^0x[^.]*$/i.test(text)) {
    const digits = text.slice(2)
    if (!/^[0-9a-f]{40}$/i.test(digits)) return { reason: 'must be an address: 0x and 40 hex digits' }
    return /^0{40}$/.test(digits)
      ? { reason: 'is the zero address: anything sent there is lost' }
      : { kind: 'address', digits }
  }
  if (/^[0-9a-f]{40}$/i.test(text))
    return { reason: 'looks like an address without 0x: add 0x at the beginning' }
  const invalid = /[@!"#%&()*+,/:;<=>?[\]\\^`{|}~]/.exec(text)?.[0]
  if (invalid !== undefined) return { reason: `is not an ENS name: it contains ${invalid}` }
  return text.includes('.')
    ? { kind: 'name', name: text }
    : { reason: 'is neither an address (0x…) nor an ENS name (name.eth)' }
}
