import { type Address, getAddress, zeroAddress } from 'viem'
import { normalize } from 'viem/ens'
import { RecipientInvalid } from './problems.ts'

export type Recipient = { kind: 'address'; address: Address } | { kind: 'name'; name: string }

// No name on ENS is longer: DNS encoding ends at 255 bytes.
const longest = 255

/** Reads what a caller gave as a recipient. @throws RecipientInvalid with what is wrong about it */
export function readRecipient(given: string): Recipient {
  const text = given.trim()
  if (text === '') throw new RecipientInvalid('The recipient is empty: give an address (0x…) or an ENS name')
  if (text.length > longest)
    throw new RecipientInvalid(
      `The recipient has ${text.length} characters: no address and no name is that long`,
    )
  // With a dot it is a name, such as 0xabc.eth.
  if (/^0x[^.]*$/i.test(text)) return { kind: 'address', address: readAddress(text) }
  if (/^[0-9a-f]{40}$/i.test(text))
    throw new RecipientInvalid(`${text} looks like an address without 0x: put 0x before it`)
  return { kind: 'name', name: readName(text) }
}

function readAddress(text: string): Address {
  const digits = text.slice(2)
  if (!/^[0-9a-f]{40}$/i.test(digits))
    throw new RecipientInvalid(`${text} is not an address: 0x and 40 hex digits are needed`)
  const address = getAddress(`0x${digits.toLowerCase()}`)
  // EIP-55: the case of a mixed-case address is its checksum. One case alone says nothing.
  const mixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  if (mixed && address.slice(2) !== digits)
    throw new RecipientInvalid(
      `${text} has a wrong checksum (EIP-55), so some of it was probably mistyped: copy the address again`,
    )
  if (address === zeroAddress)
    throw new RecipientInvalid('The zero address belongs to nobody: what is sent there is lost')
  return address
}

function readName(text: string): string {
  try {
    return normalize(text)
  } catch (error) {
    // ENSIP-15's own words: which character, and why.
    const why = error instanceof Error ? error.message : 'it cannot be normalised'
    throw new RecipientInvalid(`${JSON.stringify(text)} is not an address, and not a valid ENS name: ${why}`)
  }
}
