import { type Address, getAddress } from 'viem'
import { normalize } from 'viem/ens'
import { showInvisible } from '../../../values/invisible.ts'
import { readRecipient as recipientForm } from '../../../values/recipient.ts'
import { devChainId } from '../dev-chain/dev-keys.ts'

/** A recipient cannot be resolved to an address. The messages may be shown to whoever gave the name. */
export abstract class NameProblem extends Error {}

/** The input is neither an address nor a name; nothing was looked up. */
export class RecipientInvalid extends NameProblem {
  override readonly name: string = 'RecipientInvalid'
}

/** An address of another chain, or of an unknown one. */
export class WrongChain extends RecipientInvalid {}

export class UnknownName extends NameProblem {
  override readonly name = 'UnknownName'
}

/** A node or a gateway did not answer. The name may well exist. */
export class NameUnavailable extends NameProblem {
  override readonly name = 'NameUnavailable'
}

/** The name's chain is not configured here. */
export class NameChainMissing extends NameProblem {
  override readonly name = 'NameChainMissing'
  /** For callers who cannot change the settings. */
  readonly forStrangers: string
  constructor(
    name: string,
    readonly chainId: number,
  ) {
    const where = `${name} is looked up on chain ${chainId}, which is not`
    const next =
      chainId === devChainId
        ? 'start the daemon with TAPCHIP_DEV_CHAIN=on'
        : `set TAPCHIP_RPC_${chainId} to an RPC URL`
    super(`${where} configured: ${next}, or give the address (0x…)`)
    this.forStrangers = `${where} set up here: give the address (0x…)`
  }
}

export type Recipient = { kind: 'address'; address: Address } | { kind: 'name'; name: string }

/** @param chainId see values/recipient.ts @throws RecipientInvalid */
export function readRecipient(text: string, chainId?: number): Recipient {
  const read = recipientForm(text, chainId)
  if ('reason' in read) {
    const Problem = read.isOfChain ? WrongChain : RecipientInvalid
    throw new Problem(`${showInvisible(JSON.stringify(text.slice(0, 100)))} ${read.reason}`)
  }
  return read.kind === 'name'
    ? { kind: 'name', name: readName(read.name) }
    : { kind: 'address', address: readAddress(read.digits) }
}

function readAddress(digits: string): Address {
  const address = getAddress(`0x${digits.toLowerCase()}`)
  // EIP-55: mixed case is a checksum; a single case has none.
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
    // ENSIP-15's own message names the character and the reason.
    const why = error instanceof Error ? error.message : 'it cannot be normalised'
    throw new RecipientInvalid(
      `${showInvisible(JSON.stringify(text))} is not an address, and not a valid ENS name: ${why}`,
    )
  }
}
