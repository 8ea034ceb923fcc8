import {
  FeeCapTooLowError,
  InsufficientFundsError,
  IntrinsicGasTooHighError,
  IntrinsicGasTooLowError,
  NonceTooHighError,
  NonceTooLowError,
  type RpcRequestError,
  TipAboveFeeCapError,
  TransactionTypeNotSupportedError,
} from 'viem'
import { getNodeError } from 'viem/utils'
import { messageOf, nodeAnswer } from '../node-answer.ts'

/** The meaning of a node's answer to eth_sendRawTransaction. */
export type SendOutcome =
  /** The node has it, now or already. */
  | 'taken'
  /** Used by one of our attempts or by something else. */
  | 'nonce-used'
  /** The node accepts no nonce above the account's, so this one has to wait. */
  | 'nonce-too-high'
  /** The node has another transaction with this nonce, and requires higher fees for a replacement. */
  | 'underpriced'
  /** The node requires a higher tip for any transaction. */
  | 'tip-too-low'
  | 'below-base-fee'
  | 'no-funds'
  /** The chain accepts only legacy transactions, though its blocks may have a base fee. */
  | 'legacy-only'
  /** It will never be accepted unchanged: for example, its gas limit is too low. */
  | 'impossible'
  /** Refused with an unknown message, such as that of a full pool. */
  | 'refused'
  /** No information: a timeout, a rate limit. The node may have it. */
  | 'unknown'

export interface SendAnswer {
  outcome: SendOutcome
  /** The node's message; null if it has the transaction. */
  words: string | null
  /** The node's minimum tip in wei per gas, if it names one. */
  minTip?: bigint
}

// JSON-RPC has no codes for these: geth answers -32000 to all, anvil -32003, so the message must decide.

/** geth, Erigon, Nethermind, zkSync, Cosmos, Parity, anvil. */
const alreadyThere =
  /already.?known|already.?exists|already imported|already in (the )?(mempool|tx ?pool|cache|system)|known transaction|(with|has) (the )?same hash/i
const needsReplacementFee =
  /replacement.{0,40}(underpriced|too low|not ?allowed)|another transaction with (the )?same nonce/i
const tipIsNamed = /\btip\b.{0,12}too low|priority ?fee.{0,20}(too low|below)|minimum needed|tip needed/i
/** Nethermind uses `FeeTooLow` for both fees, and names the base fee if it exceeds the offer. */
const belowBaseFee = /(less|lower) than (the )?(block )?base ?fee|baseFee|fee cap (is )?(less|too low)/i
/** bor, geth before and since 1.15, Besu, Erigon. */
const tipIsTooLow = /underpriced|gas ?price.{0,12}(too low|below)|fee ?too ?low|below (the )?minimum/i
const nonceIsTooHigh =
  /nonce (is )?too (high|distant|far)|nonce ?gap|nonce.{0,20}(higher|greater) than|future nonce/i
const nonceIsUsed =
  /nonce (is )?too (low|old)|old ?nonce|nonce.{0,40}already (been )?used|nonce.{0,20}(lower|less) than/i
const noFunds = /insufficient ?(funds|balance)|(doesn't|does not) have enough funds|upfront ?cost/i
/** geth: core/txpool/errors.go, core/error.go. */
const neverTaken =
  /intrinsic gas|exceeds block gas limit|oversized data|max initcode size exceeded|gas limit too high|exceeds the configured cap/i
const typeIsRefused = /transaction type|tx ?type|eip-?1559/i
/** `minimum needed 25000000000`, `tip needed 25000000000, tip permitted 1`, `minimum gas price 25000000000`. */
const namedMinimum = /(?:needed|minimum[a-z ]{0,20}|at least)[: ]+(\d{1,30})\b/i

/** Price errors of unknown nodes. A wrong guess costs little, since guesses are limited. */
const priceIsTooLow =
  /(\btip\b|fee|gas ?price).{0,60}(too low|lower|below|less|minimum|at least|<)|insufficient fee/i

/** In the order of their precedence. */
const wordings: readonly (readonly [SendOutcome, RegExp])[] = [
  ['taken', alreadyThere],
  ['underpriced', needsReplacementFee],
  ['nonce-too-high', nonceIsTooHigh],
  ['nonce-used', nonceIsUsed],
  ['no-funds', noFunds],
  ['legacy-only', typeIsRefused],
  ['impossible', neverTaken],
  ['tip-too-low', tipIsNamed],
  ['below-base-fee', belowBaseFee],
  ['tip-too-low', tipIsTooLow],
  ['tip-too-low', priceIsTooLow],
]

/** If no wording above matches. */
const viemErrors = [
  ['nonce-too-high', NonceTooHighError],
  ['nonce-used', NonceTooLowError],
  ['below-base-fee', FeeCapTooLowError],
  ['no-funds', InsufficientFundsError],
  ['impossible', IntrinsicGasTooHighError],
  ['impossible', IntrinsicGasTooLowError],
  ['legacy-only', TransactionTypeNotSupportedError],
  ['impossible', TipAboveFeeCapError],
] as const

export function answerOf(error: unknown): SendAnswer {
  const words = messageOf(error)
  // Only a JSON-RPC error is the node's answer; anything else happened on the way.
  const answer = nodeAnswer(error)
  if (!answer) return { outcome: 'unknown', words }
  const outcome = outcomeOf(answer)
  const named = outcome === 'tip-too-low' ? namedMinimum.exec(answer.details)?.[1] : undefined
  return { outcome, words, ...(named === undefined ? {} : { minTip: BigInt(named) }) }
}

function outcomeOf(answer: RpcRequestError): SendOutcome {
  for (const [outcome, wording] of wordings) if (wording.test(answer.details)) return outcome
  const known = getNodeError(answer, {})
  return viemErrors.find(([, kind]) => known instanceof kind)?.[0] ?? 'refused'
}
