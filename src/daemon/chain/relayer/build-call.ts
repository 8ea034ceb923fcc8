import { type Address, type Hex, isAddress, isHex } from 'viem'
import { othersOfTopic } from '../../store/chain/intents.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import type { ChainClient } from '../chain-client.ts'
import type { AtBlock } from '../contract-state.ts'
import { messageOf } from '../node-answer.ts'
import {
  type BuildContext,
  type Builder,
  type Call,
  type Counter,
  type CounterValue,
  predict,
} from './builder.ts'
import { CannotBuild, ContractUnreadable } from './errors.ts'
import { withinLimit } from './gas.ts'
import { isTooEarly, retryLater, type Sender, type View } from './sender.ts'
import { storedAddress, storedHex } from './transaction.ts'

export interface Building {
  sender: Sender
  view: View
  /** Pending counters in nonce order; newly signed ones are appended. */
  counted: CounterValue[]
  /** Counters read from the chain, once per batch. */
  reads: Map<string, Promise<bigint>>
  /** Arguments of builders by row. */
  args: Map<number, unknown>
}

export type BuildResult =
  | {
      kind: 'call'
      call: { to: Address | null; data: Hex }
      gas: number
      counted: CounterValue | undefined
      /** The number of members of a group. */
      members?: number
    }
  | { kind: 'refused'; reason: string }
  /** These members of a group must be sent alone. */
  | { kind: 'released'; ids: readonly number[] }
  /** Members still join the group. */
  | { kind: 'later' }
  /** It may have been sent before the machine was replaced. */
  | Extract<PriorOutcome, { kind: 'done' }>
  /** It has to wait; later intents continue. */
  | { kind: 'wait'; waiting: 'builder' | 'gas-estimate' | 'gas' | 'turn'; words: string | null }

/** Less than what makes a transaction count as stuck: one team's contract is no trouble of the chain. */
const maxUnreadable = 4

/** @param isFirst nothing is pending before it, so a trial run is conclusive */
export async function buildCall(
  building: Building,
  row: TransactionRow,
  { isFirst }: { isFirst: boolean },
): Promise<BuildResult> {
  const { sender, view } = building
  if (row.waiting === 'builder' && isTooEarly(sender, view, row))
    return { kind: 'wait', waiting: 'builder', words: row.waitingWords }
  let built: { call: Call; counted: CounterValue | undefined }
  try {
    const past = await pastOf(sender, view, row)
    if (past === 'wait') return { kind: 'wait', waiting: 'builder', words: null }
    if (past === 'turn') return { kind: 'wait', waiting: 'turn', words: null }
    if (past?.kind === 'done') return past
    if (past) {
      const moment = row.isRestored === 1 ? 'the backup' : 'it was signed'
      return { kind: 'refused', reason: `the token has been moved since ${moment}, by ${past.hash}` }
    }
    built = await callOf(building, row)
  } catch (error) {
    if (error instanceof CannotBuild && !(error instanceof ContractUnreadable))
      return { kind: 'refused', reason: error.message }
    const tries = retryLater(sender, view, row)
    return error instanceof ContractUnreadable && tries >= maxUnreadable
      ? { kind: 'refused', reason: error.message }
      : { kind: 'wait', waiting: 'builder', words: messageOf(error) }
  }
  const { call, counted } = built
  const { to, data } = call
  const hints = [call.gas, row.gas].filter((gas) => typeof gas === 'number')
  const hint = hints.length === 0 ? null : Math.max(...hints)
  const limit = await sender.gas.limitOf({ to, data }, hint, sender.chain.maxGas)
  // It may depend on a pending transaction.
  if (typeof limit !== 'number')
    return isFirst
      ? { kind: 'refused', reason: limit.reason }
      : { kind: 'wait', waiting: 'gas-estimate', words: null }
  const gas = withinLimit(sender, row, limit)
  if (typeof gas !== 'number')
    return (await isUpToReceiver(building, row))
      ? { kind: 'refused', reason: gas.tooMuch }
      : { kind: 'wait', waiting: 'gas', words: gas.tooMuch }
  if (counted) building.counted.push(counted)
  return { kind: 'call', call: { to, data }, gas, counted }
}

/**
 * One recipient's contract does not block others. If it concerns several recipients, the operator has to raise the
 * limit.
 */
async function isUpToReceiver(building: Building, row: TransactionRow): Promise<boolean> {
  const { gas, builders, node } = building.sender
  const builder = row.builder === null ? undefined : builders[row.builder]
  const hasReceiver = builder?.isUpToReceiver?.(argsOf(building, row), node.client).catch(() => false)
  return (await hasReceiver) === true && (await gas.isPlain())
}

/** Reads the counters of all rows at once; sequentially, each would wait for the chain. */
export function readCounters(building: Building, rows: readonly TransactionRow[]): void {
  for (const row of rows) {
    if (row.builder === null) continue
    try {
      const counter = building.sender.builders[row.builder]?.counter?.(argsOf(building, row))
      // The error is reported when the call is built.
      if (counter) void valueOnChain(building, counter).catch(() => undefined)
    } catch {
      // It is refused later, when it is built.
    }
  }
}

/**
 * The head's block, because a lagging node would answer for its own latest one. The embedded chain has a single
 * node.
 */
export const readAt = ({ chain }: Pick<Sender, 'chain'>, { head }: View): AtBlock =>
  chain.forgets ? {} : { blockNumber: BigInt(head.number) }

function valueOnChain({ sender, view, reads }: Building, { name, read }: Counter): Promise<bigint> {
  const value = reads.get(name) ?? read(sender.node.client, readAt(sender, view))
  reads.set(name, value)
  return value
}

/** Always the same object, so that builders can cache by it. */
function argsOf({ args }: Building, row: TransactionRow): unknown {
  const known: unknown = args.get(row.id) ?? JSON.parse(row.args ?? 'null')
  args.set(row.id, known)
  return known
}

async function callOf(
  building: Building,
  row: TransactionRow,
): Promise<{ call: Call; counted: CounterValue | undefined }> {
  if (row.builder === null)
    return { call: { to: storedAddress(row.to), data: storedHex(row.data) }, counted: undefined }
  const builder = building.sender.builders[row.builder]
  if (!builder) throw new CannotBuild(`this version knows no builder "${row.builder}"`)
  const counted = await countedFor(building, builder, row)
  const call = await builder.build(argsOf(building, row), contextOf(building, row, counted?.value ?? 0n))
  if ((call.to !== null && !isAddress(call.to)) || !isHex(call.data))
    throw new CannotBuild(`the builder "${row.builder}" made no call`)
  return { call, counted }
}

async function countedFor(
  building: Building,
  builder: Builder,
  row: TransactionRow,
): Promise<CounterValue | undefined> {
  const counter = builder.counter?.(argsOf(building, row))
  if (!counter) return undefined
  const { name } = counter
  return { counter: name, value: predict(await valueOnChain(building, counter), name, building.counted) }
}

export const contextOf = (
  { sender, view }: Building,
  { signings }: Pick<TransactionRow, 'signings'>,
  count: bigint,
): BuildContext => ({
  chainId: sender.chain.chainId,
  signings,
  from: sender.signer.address,
  blockNumber: view.head.number,
  at: readAt(sender, view),
  client: sender.node.client,
  count,
})

export type PriorOutcome =
  /** The effect was caused by a transaction of the lost machine. */
  | { kind: 'done'; by: { hash: Hex; sender: string; nonce: number; blockHash: Hex; block: number } }
  | { kind: 'overtaken'; hash: Hex }

/** The chain's clock and the machine's may differ. */
const marginMs = 3_600_000

/**
 * Looks for the effect of an intent from a backup: the machine that was lost may have sent it, with a signature that
 * the backup does not know. Likewise for one that was signed before, if only the chain's state tells.
 * @returns `wait` until it is final; `turn` until an earlier intent of the same topic is settled
 */
async function pastOf(
  { db, node, builders, chain }: Sender,
  { head }: View,
  row: TransactionRow,
): Promise<PriorOutcome | 'wait' | 'turn' | undefined> {
  const builder = row.builder === null ? undefined : builders[row.builder]
  const { isJudgedByState = false } = builder ?? {}
  const isUncertain = row.isRestored === 1 || (isJudgedByState && row.signings > 0)
  if (!builder?.since || !(isUncertain || isJudgedByState)) return undefined
  const others = row.topic === null ? [] : await othersOfTopic(db.read, { topic: row.topic, id: row.id })
  // On PostgreSQL, one with a higher ID may have been visible and signed earlier.
  const isAhead = (other: { id: number; state: string }) =>
    other.id < row.id || (isJudgedByState && other.state !== 'queued')
  if (others.some((other) => other.settledAt === null && isAhead(other))) return 'turn'
  if (!isUncertain) return undefined
  const args: unknown = JSON.parse(row.args ?? 'null')
  const past = await builder.since(args, {
    fromBlock:
      row.isRestored === 0 && row.signedBlock !== null
        ? BigInt(row.signedBlock + 1)
        : await firstBlockAt(node.client, head.number, Date.parse(row.createdAt) - marginMs),
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
