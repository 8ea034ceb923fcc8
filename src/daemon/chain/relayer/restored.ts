import type { Hex } from 'viem'
import { othersOfTopic } from '../../store/chain/intents.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import type { ChainClient } from '../chain-client.ts'
import type { Sender, View } from './sender.ts'

export type PriorOutcome =
  /** The effect was caused by a transaction of the lost machine. */
  | { kind: 'done'; by: { hash: Hex; sender: string; nonce: number; blockHash: Hex; block: number } }
  | { kind: 'overtaken'; hash: Hex }

/** The chain's clock and the machine's may differ. */
const marginMs = 3_600_000

/**
 * Looks for the effect of an intent from a backup: the machine that was lost may have sent it, with a signature that
 * the backup does not know.
 * @returns `wait` until it is final, or until an earlier intent of the same topic is settled
 */
export async function pastOf(
  { db, node, builders, chain }: Sender,
  { head }: View,
  row: TransactionRow,
): Promise<PriorOutcome | 'wait' | undefined> {
  const builder = row.builder === null ? undefined : builders[row.builder]
  if (row.isRestored === 0 || !builder?.since) return undefined
  const others = row.topic === null ? [] : await othersOfTopic(db.read, { topic: row.topic, id: row.id })
  if (others.some((other) => other.id < row.id && other.settledAt === null)) return 'wait'
  const args: unknown = JSON.parse(row.args ?? 'null')
  const past = await builder.since(args, {
    fromBlock: await firstBlockAt(node.client, head.number, Date.parse(row.createdAt) - marginMs),
    untilBlock: BigInt(head.number),
    others: new Set(
      others.flatMap(({ hash, minedHash }) => [hash, minedHash]).filter((hash) => hash !== null),
    ),
    client: node.client,
  })
  if (past === undefined) return undefined
  const { kind, hash, block } = past
  if (head.number - block + 1 < chain.confirmations) return 'wait'
  if (kind === 'overtaken') return { kind, hash }
  const { from: sender, nonce, blockHash } = await node.client.getTransaction({ hash })
  return blockHash === null ? 'wait' : { kind, by: { hash, sender, nonce, blockHash, block } }
}

async function firstBlockAt(client: ChainClient, newest: number, ms: number): Promise<bigint> {
  let [before, after] = [0, newest]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    const { timestamp } = await client.getBlock({ blockNumber: BigInt(middle) })
    if (Number(timestamp) * 1000 >= ms) after = middle
    else before = middle
  }
  return BigInt(before)
}
