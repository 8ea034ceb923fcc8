import type { Address, Hex, TransactionSerializableEIP1559, TransactionSerializableLegacy } from 'viem'

export type UnsignedTransaction = TransactionSerializableEIP1559 | TransactionSerializableLegacy

/** Signs for one address. Whoever sends never sees the key, which may be on another machine. */
export interface TransactionSigner {
  readonly address: Address
  signTransaction(transaction: UnsignedTransaction): Promise<Hex>
}

/** A key of a chain's relayers costs a nonce queue and a balance to watch; nobody needs more on one chain. */
export const maxRelayers = 16

/** The name in `transactions.signer`. Positions count from 0; the first was alone before, so it has no number. */
export const relayerName = (position: number): string =>
  position === 0 ? 'relayer' : `relayer-${position + 1}`
