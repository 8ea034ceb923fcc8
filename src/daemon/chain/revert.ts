import { type Hex, isHex } from 'viem'
import { nodeAnswer } from './node-answer.ts'

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
