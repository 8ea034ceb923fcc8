import { type Address, type Hex, keccak256 } from 'viem'
import type { NewAttempt } from '../../store/chain/intents.ts'
import type { Fees } from './fees.ts'
import { isoNow, type Sender } from './sender.ts'

/** The kind of a transaction that only fills a gap in the nonces. */
export const fillerKind = 'filler'

interface UnsignedAttempt {
  purpose: 'effect' | 'filler'
  nonce: number
  gas: number
  fees: Fees
  /** The chain has no EIP-1559. */
  isLegacy: boolean
  /** For an effect; a filler is an empty call to the sender itself. */
  call: { to: Address | null; data: Hex }
}

/** Signs without sending: the bytes must be stored first. */
export async function signAttempt(
  sender: Sender,
  { purpose, nonce, gas, fees, isLegacy, call }: UnsignedAttempt,
): Promise<Omit<NewAttempt, 'transactionId'>> {
  const { signer, chain } = sender
  const { to, data } = purpose === 'filler' ? emptyCall(sender) : call
  const unsigned = {
    chainId: chain.chainId,
    nonce,
    gas: BigInt(gas),
    data,
    ...(to === null ? {} : { to }),
  }
  const raw = await signer.signTransaction(
    isLegacy
      ? { type: 'legacy', ...unsigned, gasPrice: fees.maxFeePerGas }
      : { type: 'eip1559', ...unsigned, ...fees },
  )
  return {
    purpose,
    nonce,
    gas,
    hash: keccak256(raw),
    raw,
    sender: signer.address,
    maxFeePerGas: String(fees.maxFeePerGas),
    maxPriorityFeePerGas: String(fees.maxPriorityFeePerGas),
    signedAt: isoNow(sender),
  }
}

export const emptyCall = ({ signer }: Sender): { to: Address; data: Hex } => ({
  to: signer.address,
  data: '0x',
})

export const feesOf = (attempt: { maxFeePerGas: string; maxPriorityFeePerGas: string }): Fees => ({
  maxFeePerGas: BigInt(attempt.maxFeePerGas),
  maxPriorityFeePerGas: BigInt(attempt.maxPriorityFeePerGas),
})
