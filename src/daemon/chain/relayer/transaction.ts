import { type Address, getAddress, type Hex, isHex } from 'viem'
import type { TransactionRow } from '../../store/schema/schema.ts'

/**
 * The life of an intent: queued → signed → broadcast → mined → confirmed | reverted | cancelled. As in other
 * reliable relayers, signed bytes are stored before they leave, and whichever attempt is mined counts.
 */
export type TransactionState =
  /** Recorded, without a nonce; nothing was sent. A transaction that must be signed again returns to this state. */
  | { name: 'queued' }
  /** Has a nonce, and its signed bytes are stored. A node may or may not have them. */
  | { name: 'signed'; sender: Address; nonce: number; firstHash: Hex }
  /** A node accepted one of the attempts. It may forget it, so it is resent now and then. */
  | { name: 'broadcast'; sender: Address; nonce: number; firstHash: Hex }
  /** In a block that is not final yet. A reorganization leads back to `broadcast`. */
  | ({ name: 'mined'; sender: Address; nonce: number; firstHash: Hex; succeeded: boolean } & Mined)
  /** Final, with its effect. */
  | ({ name: 'confirmed'; sender: Address; nonce: number; firstHash: Hex } & Mined)
  /** Final, without an effect. */
  | ({ name: 'reverted'; sender: Address; nonce: number; firstHash: Hex; reason: string } & Mined)
  /** Given up without an effect. Its nonce, if it had one, was used by an empty transaction. */
  | { name: 'cancelled'; firstHash: Hex | undefined; reason: string }

interface Mined {
  minedHash: Hex
  blockHash: Hex
  blockNumber: number
}

export type SettledState = Extract<TransactionState, { name: 'confirmed' | 'reverted' | 'cancelled' }>

/** @throws Error if a row contradicts itself */
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
  const mined = {
    minedHash: storedHex(row.minedHash),
    blockHash: storedHex(row.blockHash),
    blockNumber: row.blockNumber ?? 0,
  }
  if (row.state === 'mined') return { name: 'mined', ...sent, ...mined, succeeded: row.succeeded === 1 }
  if (row.state === 'confirmed') return { name: 'confirmed', ...sent, ...mined }
  return { name: 'reverted', ...sent, ...mined, reason }
}

export const isSettled = (state: TransactionState): state is SettledState =>
  state.name === 'confirmed' || state.name === 'reverted' || state.name === 'cancelled'

/** Reads hex from the store. @throws Error if it is not hex, which only damage explains */
export function storedHex(text: string | null): Hex {
  if (text === null || !isHex(text)) throw new Error('The store contains text where hex is expected')
  return text
}

export const storedAddress = (text: string | null): Address | null =>
  text === null ? null : getAddress(text)
