import type { ChainClient } from './chain-client.ts'
import { isUnusable, messageOf, nodeAnswer } from './node-answer.ts'

/** The node refuses all log queries, even for a single block. */
export class LogsUnreadable extends Error {
  override readonly name = 'LogsUnreadable'
}

/** After this time, larger ranges are tried again, because a node's limit may have been raised. */
const rememberedForMs = 600_000
/** By chain: the number of blocks that the node last accepted in one query. */
const limits = new WeakMap<Pick<ChainClient, 'request'>, { blocks: bigint; at: number }>()

/**
 * Reads the logs of a range of blocks, newest first, in pieces that the node accepts. Nodes limit blocks or results
 * and report that in many ways, so any refusal halves the piece.
 * @param read the logs from one block to another, both included, in their order
 * @throws LogsUnreadable, and errors of the connection
 */
export async function* logsNewestFirst<T>(
  client: Pick<ChainClient, 'request'>,
  { from, to }: { from: bigint; to: bigint },
  read: (fromBlock: bigint, toBlock: bigint) => Promise<readonly T[]>,
): AsyncGenerator<T> {
  const known = limits.get(client)
  const isFresh = known !== undefined && performance.now() - known.at < rememberedForMs
  let blocks = isFresh ? known.blocks : to - from + 1n
  for (let last = to; last >= from; ) {
    const first = last - blocks + 1n > from ? last - blocks + 1n : from
    let logs: readonly T[]
    try {
      logs = await read(first, last)
    } catch (error) {
      if (!nodeAnswer(error) && !isUnusable(error)) throw error
      if (first === last) throw new LogsUnreadable(messageOf(error), { cause: error })
      blocks = (last - first + 1n) / 2n
      limits.set(client, { blocks, at: performance.now() })
      continue
    }
    yield* logs.toReversed()
    last = first - 1n
  }
}
