/** An address as its 40 hex digits, or a name of a name service: who has it is for whoever asks there. */
type RecipientForm =
  | { readonly kind: 'address'; readonly digits: string }
  | { readonly kind: 'name'; readonly name: string }

// No name on ENS is longer: DNS encoding ends at 255 bytes.
const longest = 255

/**
 * Reads what was given as a recipient, by its form alone: an address's checksum, and whether a name is in normal form
 * (ENSIP-15), take tables and hashes that are the daemon's. A reason can follow the text in quotes.
 */
export function readRecipient(given: string): RecipientForm | { readonly reason: string } {
  const text = given.trim()
  if (text === '') return { reason: 'is empty: give an address (0x…) or an ENS name' }
  if (text.length > longest)
    return { reason: `has ${text.length} characters: no address and no name is that long` }
  // With a dot it is a name, such as 0xabc.eth.
  if (/^0x[^.]*$/i.test(text)) {
    const digits = text.slice(2)
    if (!/^[0-9a-f]{40}$/i.test(digits)) return { reason: 'must be an address: 0x and 40 hex digits' }
    return /^0{40}$/.test(digits)
      ? { reason: 'is the zero address: what is sent there is lost' }
      : { kind: 'address', digits }
  }
  if (/^[0-9a-f]{40}$/i.test(text)) return { reason: 'looks like an address without 0x: put 0x before it' }
  const never = /[@!"#%&()*+,/:;<=>?[\]\\^`{|}~]/.exec(text)?.[0]
  if (never !== undefined) return { reason: `is no ENS name: none holds a ${never}` }
  return text.includes('.')
    ? { kind: 'name', name: text }
    : { reason: 'is neither an address (0x…) nor an ENS name (name.eth)' }
}
