import { inspect } from 'node:util'
import { type Address, bytesToHex, type Hex, isHex, type TransactionSerializableEIP1559 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'

/** A key is missing, unreadable or not allowed. The message says which and what to do, and never shows the key. */
export class KeyProblem extends Error {
  override readonly name = 'KeyProblem'
}

/** Signs, and shows nothing but its address: not when it is printed, logged, copied or turned into JSON. */
export class SigningKey {
  readonly address: Address
  readonly #account: PrivateKeyAccount

  private constructor(account: PrivateKeyAccount) {
    this.address = account.address
    this.#account = account
  }

  /**
   * @param secret 32 bytes, or 64 hex digits with or without 0x
   * @param from where it comes from, for messages
   * @throws KeyProblem
   */
  static of(secret: string | Uint8Array, from: string): SigningKey {
    const text = typeof secret === 'string' ? secret.trim() : bytesToHex(secret)
    const hex: Hex = text.startsWith('0x') ? `0x${text.slice(2)}` : `0x${text}`
    if (!isHex(hex) || hex.length !== 66)
      throw new KeyProblem(`${from} holds no private key: it must be 64 hex digits.`)
    let account: PrivateKeyAccount
    try {
      account = privateKeyToAccount(hex)
    } catch {
      // Without the cause: libraries quote what they were given.
      throw new KeyProblem(`${from} holds no private key: it is out of range.`)
    }
    return new SigningKey(account)
  }

  signTransaction(transaction: TransactionSerializableEIP1559): Promise<Hex> {
    return this.#account.signTransaction(transaction)
  }

  /** EIP-191 over bytes. */
  signMessage({ raw }: { raw: Hex }): Promise<Hex> {
    return this.#account.signMessage({ message: { raw } })
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
