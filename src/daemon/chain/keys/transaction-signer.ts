import type { Address, Hex, TransactionSerializableEIP1559, TransactionSerializableLegacy } from 'viem'

export type UnsignedTransaction = TransactionSerializableEIP1559 | TransactionSerializableLegacy

/** Signs for one address. Whoever sends never sees the key, which may be on another machine. */
export interface TransactionSigner {
  readonly address: Address
  /** @throws SignerProblem if a remote signer gives no signature */
  signTransaction(transaction: UnsignedTransaction): Promise<Hex>
  /** Absent for a key on this machine. */
  readonly remote?: RemoteHealth
}

/** The remote signer did not give what was asked for. Nothing was sent, and it is asked again. */
export class SignerProblem extends Error {
  override readonly name = 'SignerProblem'
  constructor(
    /** Host and port. */
    readonly host: string,
    what: string,
  ) {
    super(`The signer at ${host} ${what}`)
  }
}

export interface RemoteHealth {
  /** Host and port. */
  readonly host: string
  /** Of the last exchange about this key. */
  readonly problem: SignerProblem | undefined
  /** Asks whether it has the key. @returns the problem, if any */
  check(): Promise<SignerProblem | undefined>
}

/** A key of a chain's relayers costs a nonce queue and a balance to watch; nobody needs more on one chain. */
export const maxRelayers = 16

/** The name in `transactions.signer`. Positions count from 0; the first was alone before, so it has no number. */
export const relayerName = (position: number): string =>
  position === 0 ? 'relayer' : `relayer-${position + 1}`
