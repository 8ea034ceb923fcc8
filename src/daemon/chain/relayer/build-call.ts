import { type Address, type Hex, isAddress, isHex } from 'viem'
import type { TransactionRow } from '../../store/schema.ts'
import { type BuildContext, type Builder, type Call, type Counted, type Counter, predict } from './builder.ts'
import { CannotBuild } from './errors.ts'
import { type Past, pastOf } from './restored.ts'
import type { Sender, View } from './sender.ts'
import { storedAddress, storedHex } from './transaction.ts'

export interface Building {
  sender: Sender
  view: View
  /** Pending counters in nonce order; newly signed ones are appended. */
  counted: Counted[]
  /** Counters read from the chain, once per batch. */
  reads: Map<string, Promise<bigint>>
  /** Arguments of builders by row. */
  args: Map<number, unknown>
}

export type Built =
  | { kind: 'call'; call: { to: Address | null; data: Hex }; gas: number; counted: Counted | undefined }
  | { kind: 'refused'; reason: string }
  /** It was sent before the machine was replaced. */
  | Extract<Past, { kind: 'done' }>
  /** It waits, and later intents continue. */
  | { kind: 'wait'; waiting: 'builder' | 'gas-estimate' }

/** @param isFirst nothing is pending before it, so a trial run is conclusive */
export async function buildCall(
  building: Building,
  row: TransactionRow,
  { isFirst }: { isFirst: boolean },
): Promise<Built> {
  let made: { call: Call; counted: Counted | undefined }
  try {
    const past = await pastOf(building.sender, building.view, row)
    if (past === 'wait') return { kind: 'wait', waiting: 'builder' }
    if (past?.kind === 'done') return past
    if (past) return { kind: 'refused', reason: `the token has been moved since the backup, by ${past.hash}` }
    made = await callOf(building, row)
  } catch (error) {
    if (error instanceof CannotBuild) return { kind: 'refused', reason: error.message }
    return { kind: 'wait', waiting: 'builder' }
  }
  const { call, counted } = made
  const { to, data } = call
  const hint = call.gas ?? row.gas
  const gas = hint === null ? await estimated(building.sender, { to, data }) : hint
  if (typeof gas !== 'number') {
    // It may depend on a pending transaction.
    return isFirst ? { kind: 'refused', reason: gas.reason } : { kind: 'wait', waiting: 'gas-estimate' }
  }
  if (counted) building.counted.push(counted)
  return { kind: 'call', call: { to, data }, gas, counted }
}

/** Asks for the counters of all rows at once: one after another, each would wait for the chain. */
export function readCounters(building: Building, rows: readonly TransactionRow[]): void {
  for (const row of rows) {
    if (row.builder === null) continue
    try {
      const counter = building.sender.builders[row.builder]?.counter?.(argsOf(building, row))
      // Whoever builds with it learns why it failed.
      if (counter) void valueOnChain(building, counter).catch(() => undefined)
    } catch {
      // Refused when it is built.
    }
  }
}

function valueOnChain({ sender, reads }: Building, { name, read }: Counter): Promise<bigint> {
  const value = reads.get(name) ?? read(sender.node.client)
  reads.set(name, value)
  return value
}

/** The same object each time, so that a builder can know it. */
function argsOf({ args }: Building, row: TransactionRow): unknown {
  const known: unknown = args.get(row.id) ?? JSON.parse(row.args ?? 'null')
  args.set(row.id, known)
  return known
}

async function callOf(
  building: Building,
  row: TransactionRow,
): Promise<{ call: Call; counted: Counted | undefined }> {
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
): Promise<Counted | undefined> {
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

/** Adds a fifth, because earlier transactions can increase the cost. */
async function estimated(
  { node, signer }: Sender,
  call: { to: Address | null; data: Hex },
): Promise<number | { reason: string }> {
  const gas = await node.estimate({ from: signer.address, ...call })
  return typeof gas === 'bigint' ? Number((gas * 6n) / 5n) : gas
}
