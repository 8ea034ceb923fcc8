import { type Address, getAddress } from 'viem'
import { normalize } from 'viem/ens'
import { readRecipient as recipientForm } from '../../../values/recipient.ts'
import { RecipientInvalid } from './problems.ts'

export type Recipient = { kind: 'address'; address: Address } | { kind: 'name'; name: string }

/** Reads what a caller gave as a recipient. @throws RecipientInvalid with what is wrong about it */
export function readRecipient(given: string): Recipient {
  const read = recipientForm(given)
  if ('reason' in read) throw new RecipientInvalid(`${JSON.stringify(given.slice(0, 100))} ${read.reason}`)
  return read.kind === 'name'
    ? { kind: 'name', name: readName(read.name) }
    : { kind: 'address', address: readAddress(read.digits) }
}

function readAddress(digits: string): Address {
  const address = getAddress(`0x${digits.toLowerCase()}`)
  // EIP-55: the case of a mixed-case address is its checksum. One case alone says nothing.
  const mixed = /[a-f]/.test(digits) && /[A-F]/.test(digits)
  if (mixed && address.slice(2) !== digits)
    throw new RecipientInvalid(
      `0x${digits} has a wrong checksum (EIP-55), so some of it was probably mistyped: copy the address again`,
    )
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
