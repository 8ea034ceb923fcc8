/** An address without 0x, or an unresolved ENS name. */
type RecipientForm =
  | { readonly kind: 'address'; readonly digits: string }
  | { readonly kind: 'name'; readonly name: string }

// The limit of DNS encoding, and therefore of ENS names.
const maxLength = 255

/**
 * Checks only the form of a recipient. The daemon checks an address's checksum and a name's normalization (ENSIP-15),
 * which need tables and hashes. A reason can follow the text in quotes.
 */
export function readRecipient(given: string): RecipientForm | { readonly reason: string } {
  const text = given.trim()
  if (text === '') return { reason: 'is empty: give an address (0x…) or an ENS name' }
  if (text.length > maxLength)
    return { reason: `has ${text.length} characters, which is too long for an address or a name` }
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
