import { BaseError, RpcRequestError } from 'viem'
import { OutboundFailed } from '../outbound/errors.ts'
import { plainText } from '../outbound/foreign-text.ts'
import { MalformedAnswer } from './rpc-connection.ts'

/** The node's own message, without viem's. */
export function messageOf(error: unknown): string {
  if (error instanceof BaseError) return plainText(error.details || error.shortMessage)
  return plainText(error instanceof Error ? error.message : String(error))
}

/** What a node answered in place of a result; undefined if it did not answer, as one does not that limits requests. */
export function nodeAnswer(error: unknown): RpcRequestError | undefined {
  const answer = error instanceof BaseError ? error.walk((cause) => cause instanceof RpcRequestError) : null
  return answer instanceof RpcRequestError ? answer : undefined
}

/** The node answered, and its answer is of no use: malformed, or too large. */
export function isUnusable(error: unknown): boolean {
  const isOne = (cause: unknown) =>
    cause instanceof MalformedAnswer || (cause instanceof OutboundFailed && cause.kind === 'too_large')
  // viem wraps what it does not know.
  return isOne(error instanceof BaseError ? error.walk(isOne) : error)
}

/** A node's words for a block that it does not have, as one that lags. */
export const lacksBlock =
  /header not found|(unknown|missing|invalid) block|block .*not (found|available)|BlockOutOfRange/i
