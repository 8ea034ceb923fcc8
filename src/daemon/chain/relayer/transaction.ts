import { type Address, getAddress, type Hex, isHex } from 'viem'
import type { TransactionRow } from '../../store/schema.ts'

/**
 * Where an intent is on its way to the chain. The states and their order follow what sound relayers do: the signed
 * bytes are in the log before they leave, and what is mined counts, whichever attempt it was.
 *
 * queued → signed → broadcast → mined → confirmed | reverted | cancelled
 */
export type TransactionState =
  /** Recorded. It has no nonce, and nothing of it has left. `signed anew` leads back here. */
  | { name: 'queued' }
  /** Has a nonce, and its signed bytes are stored. Whether a node has them is not known. */
  | { name: 'signed'; sender: Address; nonce: number; firstHash: Hex }
  /** A node said that it has one of the attempts. That can be forgotten, so it is sent again now and then. */
  | { name: 'broadcast'; sender: Address; nonce: number; firstHash: Hex }
  /** In a block that is not deep enough yet. Another block at this height leads back to `broadcast`. */
  | ({ name: 'mined'; sender: Address; nonce: number; firstHash: Hex; succeeded: boolean } & Place)
  /** Its effect is on the chain, as deep as was asked for. */
  | ({ name: 'confirmed'; sender: Address; nonce: number; firstHash: Hex } & Place)
  /** Mined as deep, without an effect. */
  | ({ name: 'reverted'; sender: Address; nonce: number; firstHash: Hex; reason: string } & Place)
  /** Given up without an effect. Its nonce, if it had taken one, was used up by an empty transaction. */
  | { name: 'cancelled'; firstHash: Hex | undefined; reason: string }

interface Place {
  /** The attempt that was mined. */
  minedHash: Hex
  blockHash: Hex
  blockNumber: number
}

export type SettledState = Extract<TransactionState, { name: 'confirmed' | 'reverted' | 'cancelled' }>

/** @throws Error where a row contradicts itself */
export function stateOf(row: TransactionRow): TransactionState {
  const reason = row.reason ?? 'unknown'
  if (row.state === 'queued') return { name: 'queued' }
  if (row.state === 'cancelled') {
    return {
      name: 'cancelled',
      firstHash: row.firstHash === null ? undefined : storedHex(row.firstHash),
      reason,
    }
  }
  if (row.sender === null || row.nonce === null) throw new Error(`Transaction ${row.id} has no nonce`)
  const sent = { sender: getAddress(row.sender), nonce: row.nonce, firstHash: storedHex(row.firstHash) }
  if (row.state === 'signed' || row.state === 'broadcast') return { name: row.state, ...sent }
  const place = {
    minedHash: storedHex(row.minedHash),
    blockHash: storedHex(row.blockHash),
    blockNumber: row.blockNumber ?? 0,
  }
  if (row.state === 'mined') return { name: 'mined', ...sent, ...place, succeeded: row.succeeded === 1 }
  if (row.state === 'confirmed') return { name: 'confirmed', ...sent, ...place }
  return { name: 'reverted', ...sent, ...place, reason }
}

export const isSettled = (state: TransactionState): state is SettledState =>
  state.name === 'confirmed' || state.name === 'reverted' || state.name === 'cancelled'

/** Hex as the store holds it: text. @throws Error where it is something else, which only damage explains */
export function storedHex(text: string | null): Hex {
  if (text === null || !isHex(text)) throw new Error('The store holds no hex where hex belongs')
  return text
}

export const storedAddress = (text: string | null): Address | null =>
  text === null ? null : getAddress(text)
