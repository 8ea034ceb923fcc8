import { type Address, type Hex, isAddress, isHex } from 'viem'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { messageOf } from '../node-answer.ts'
import {
  type BuildContext,
  type Builder,
  type Call,
  type Counter,
  type CounterValue,
  predict,
} from './builder.ts'
import { CannotBuild } from './errors.ts'
import { withinLimit } from './gas.ts'
import { type PriorOutcome, pastOf } from './restored.ts'
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
  | { kind: 'call'; call: { to: Address | null; data: Hex }; gas: number; counted: CounterValue | undefined }
  | { kind: 'refused'; reason: string }
  /** It may have been sent before the machine was replaced. */
  | Extract<PriorOutcome, { kind: 'done' }>
  /** It has to wait; later intents continue. */
  | { kind: 'wait'; waiting: 'builder' | 'gas-estimate' | 'gas'; words: string | null }

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
    if (past?.kind === 'done') return past
    if (past) return { kind: 'refused', reason: `the token has been moved since the backup, by ${past.hash}` }
    built = await callOf(building, row)
  } catch (error) {
    if (error instanceof CannotBuild) return { kind: 'refused', reason: error.message }
    retryLater(sender, view, row)
    return { kind: 'wait', waiting: 'builder', words: messageOf(error) }
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
 * At the head's block, because a lagging node would answer for its own latest one. The embedded chain has a single
 * node.
 */
function valueOnChain({ sender, view, reads }: Building, { name, read }: Counter): Promise<bigint> {
  const block = sender.chain.forgets ? undefined : view.head.number
  const value = reads.get(name) ?? read(sender.node.client, block)
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

const contextOf = (
  { sender, view }: Building,
  { signings }: Pick<TransactionRow, 'signings'>,
  count: bigint,
): BuildContext => ({
  chainId: sender.chain.chainId,
  signings,
  from: sender.signer.address,
  blockNumber: view.head.number,
  client: sender.node.client,
  count,
})
