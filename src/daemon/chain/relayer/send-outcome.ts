import {
  BaseError,
  FeeCapTooLowError,
  InsufficientFundsError,
  IntrinsicGasTooHighError,
  IntrinsicGasTooLowError,
  NonceTooLowError,
  RpcRequestError,
  TipAboveFeeCapError,
  TransactionTypeNotSupportedError,
} from 'viem'
import { getNodeError } from 'viem/utils'
import { inWords } from '../../outbound/words.ts'

/** What a node's answer to eth_sendRawTransaction says about the transaction. */
export type SendOutcome =
  /** The node has it, from now or from before. */
  | 'taken'
  /** Its nonce is used up, by one of our attempts or by something else. */
  | 'nonce-used'
  /** The node has another one with this nonce, or wants a higher fee. */
  | 'underpriced'
  /** It offers less than the base fee. */
  | 'below-base-fee'
  | 'no-funds'
  /** No node will ever take these bytes. */
  | 'impossible'
  /** Says nothing: a timeout, a full pool, a rate limit. The node may have it. */
  | 'unknown'

// JSON-RPC has no codes for these: geth answers -32000 to all, anvil -32003, so the words are all there is. viem knows
// most; it takes the first two for a nonce that is too low, which is the opposite.
const alreadyThere = /already known|transaction already imported|known transaction/i
const underpriced =
  /replacement transaction underpriced|transaction underpriced|tip too low|gas price too low/i
// geth: core/txpool/errors.go, core/error.go
const neverTaken =
  /exceeds block gas limit|oversized data|max initcode size exceeded|invalid chain id for signer|invalid sender|gas limit too high|exceeds the configured cap/i

/** The node's own words, without ours. */
export function wordsOf(error: unknown): string {
  if (error instanceof BaseError) return inWords(error.details || error.shortMessage)
  return inWords(error instanceof Error ? error.message : String(error))
}

/** Judges what sending threw. */
export function outcomeOf(error: unknown): SendOutcome {
  // Only an answer of the node in JSON-RPC's own form says something; everything else happened on the way.
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null
  if (!(error instanceof BaseError) || !(answer instanceof RpcRequestError)) return 'unknown'
  const words = answer.details
  if (alreadyThere.test(words)) return 'taken'
  if (underpriced.test(words)) return 'underpriced'
  if (neverTaken.test(words)) return 'impossible'
  const known = getNodeError(answer, {})
  if (known instanceof NonceTooLowError) return 'nonce-used'
  if (known instanceof FeeCapTooLowError) return 'below-base-fee'
  if (known instanceof InsufficientFundsError) return 'no-funds'
  const never = [
    IntrinsicGasTooHighError,
    IntrinsicGasTooLowError,
    TransactionTypeNotSupportedError,
    TipAboveFeeCapError,
  ]
  return never.some((kind) => known instanceof kind) ? 'impossible' : 'unknown'
}
