import { createRequire } from 'node:module'
import { inspect } from 'node:util'
import type * as Secp256k1 from 'tiny-secp256k1'
import {
  type Address,
  bytesToHex,
  type Hex,
  hashMessage,
  hexToBytes,
  isHex,
  keccak256,
  serializeSignature,
  serializeTransaction,
} from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import type { TransactionSigner, UnsignedTransaction } from './transaction-signer.ts'

/** A key is missing, unreadable, or not allowed. The message never contains the key. */
export class KeyProblem extends Error {
  override readonly name = 'KeyProblem'
}

let loaded: typeof Secp256k1 | undefined
/** Compiled on first use: a daemon that only serves taps starts without it. */
const secp256k1 = (): typeof Secp256k1 => {
  loaded ??= createRequire(import.meta.url)('tiny-secp256k1') as typeof Secp256k1
  return loaded
}

/**
 * Signs, and reveals only its address, even when it is printed, logged, copied, or converted to JSON. It uses
 * libsecp256k1 as WebAssembly, which takes a third of the time of a signature in JavaScript; at hundreds of
 * transfers per second, signing is most of the daemon's work.
 */
export class SigningKey implements TransactionSigner {
  readonly address: Address
  readonly #secret: Uint8Array

  private constructor(secret: Uint8Array, address: Address) {
    this.address = address
    this.#secret = secret
  }

  /**
   * One of our own keys with a known address: deriving it would take longer than everything else that a start does
   * for the key.
   */
  static known(secret: Hex, address: Address): SigningKey {
    return new SigningKey(hexToBytes(secret), address)
  }

  /**
   * @param secret 32 bytes, or 64 hex digits with or without 0x
   * @param from the source, for messages
   * @throws KeyProblem
   */
  static of(secret: string | Uint8Array, from: string): SigningKey {
    const text = typeof secret === 'string' ? secret.trim() : bytesToHex(secret)
    const hex: Hex = text.startsWith('0x') ? `0x${text.slice(2)}` : `0x${text}`
    if (!isHex(hex) || hex.length !== 66)
      throw new KeyProblem(`${from} does not contain a private key: it must be 64 hex digits.`)
    const bytes = hexToBytes(hex)
    const publicKey = secp256k1().isPrivate(bytes) ? secp256k1().pointFromScalar(bytes, false) : null
    // Omits the value, because it may be a key with a typo.
    if (!publicKey) throw new KeyProblem(`${from} does not contain a private key: it is out of range.`)
    return new SigningKey(bytes, publicKeyToAddress(bytesToHex(publicKey)))
  }

  async signTransaction(transaction: UnsignedTransaction): Promise<Hex> {
    const unsigned = serializeTransaction(transaction)
    return serializeTransaction(transaction, this.#sign(keccak256(unsigned, 'bytes')))
  }

  async signMessage({ raw }: { raw: Hex }): Promise<Hex> {
    return serializeSignature(this.#sign(hashMessage({ raw }, 'bytes')))
  }

  #sign(hash: Uint8Array): { r: Hex; s: Hex; v: bigint; yParity: 0 | 1 } {
    const { signature, recoveryId } = secp256k1().signRecoverable(hash, this.#secret)
    // 2 and 3 would need a point beyond the order, which never occurs in practice.
    const yParity = recoveryId % 2 === 0 ? 0 : 1
    return {
      r: bytesToHex(signature.subarray(0, 32)),
      s: bytesToHex(signature.subarray(32)),
      v: 27n + BigInt(yParity),
      yParity,
    }
  }

  toJSON(): { address: Address } {
    return { address: this.address }
  }

  toString(): string {
    return `SigningKey(${this.address})`
  }

  [inspect.custom](): string {
    return this.toString()
  }
}
