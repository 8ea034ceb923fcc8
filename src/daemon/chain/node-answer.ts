import { BaseError, type Hex, isHex, RpcRequestError } from 'viem'
import { OutboundFailed } from '../outbound/errors.ts'
import { plainText } from '../outbound/foreign-text.ts'
import { MalformedAnswer } from './rpc-connection.ts'

/** The node's own message, without viem's. */
export function messageOf(error: unknown): string {
  if (error instanceof BaseError) return plainText(error.details || error.shortMessage)
  return plainText(error instanceof Error ? error.message : String(error))
}

/** The error that a node answered with; undefined if it did not answer. A rate limit is not an answer. */
export function nodeAnswer(error: unknown): RpcRequestError | undefined {
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null
  return answer instanceof RpcRequestError ? answer : undefined
}

/** The node's answer is unusable: malformed or too large. */
export function isUnusable(error: unknown): boolean {
  return isTooLarge(error) || causeOf(error, (cause) => cause instanceof MalformedAnswer)
}

const isTooLarge = (error: unknown): boolean =>
  causeOf(error, (cause) => cause instanceof OutboundFailed && cause.kind === 'too_large')

/** viem wraps errors that it does not recognize. */
const causeOf = (error: unknown, isIt: (cause: unknown) => boolean): boolean =>
  isIt(error instanceof BaseError ? error.walk(isIt) : error)

/** A call ran until the node stopped it (geth: after 5 s), or returned more than fits an answer. */
export function isEndless(error: unknown): boolean {
  const answer = nodeAnswer(error)
  return answer ? /execution (aborted|timeout)/i.test(answer.details) : isTooLarge(error)
}

/** Error messages for a block that a lagging node does not have yet. */
export const lacksBlock =
  /header not found|(unknown|missing|invalid) block|block .*not (found|available)|BlockOutOfRange/i

interface Revert {
  reason: string
  data: Hex | undefined
}

// geth answers 3 with the data of a revert, and -32000 without data or if gas ran out; anvil 3, -32003, -32000,
// or -32603; Nethermind -32015.
const codes = [3, -32000, -32003, -32015, -32603]

// A node that lacks a block, or is rate limited, answers with the same codes, so the message decides.
const failed =
  /revert|out ?of ?gas|gas required exceeds|invalid (opcode|jump)|bad instruction|stack ?(under|over)flow|(vm|evm) (exception|execution|error)|write protection|gas uint64 overflow|intrinsic gas too low|max (init)?code size/i

/** Returns why a call failed on the chain; undefined if the node or the connection failed instead. */
export function revertOf(error: unknown): Revert | undefined {
  const answer = nodeAnswer(error)
  if (!answer || !codes.includes(answer.code)) return undefined
  const { data, details } = answer as { data: unknown; details: string }
  const bytes = isHex(data) ? data : undefined
  const hasData = bytes !== undefined && (bytes.length > 2 || answer.code === 3)
  return hasData || failed.test(details) ? { reason: details, data: bytes } : undefined
}
