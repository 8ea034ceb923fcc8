import { type Address, type Hex, isAddress, isHex } from 'viem'
import type { TransactionRow } from '../../store/schema.ts'
import { type BuildContext, type Call, type Counted, predict } from './builder.ts'
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
  const tried: Counted[] = []
  let call: Call
  try {
    const past = await pastOf(building.sender, building.view, row)
    if (past === 'wait') return { kind: 'wait', waiting: 'builder' }
    if (past?.kind === 'done') return past
    if (past) return { kind: 'refused', reason: `the token has been moved since the backup, by ${past.hash}` }
    call = await callOf(building, row, tried)
  } catch (error) {
    if (error instanceof CannotBuild) return { kind: 'refused', reason: error.message }
    return { kind: 'wait', waiting: 'builder' }
  }
  const { to, data } = call
  const hint = call.gas ?? row.gas
  const gas = hint === null ? await estimated(building.sender, { to, data }) : hint
  if (typeof gas !== 'number') {
    // It may depend on a pending transaction.
    return isFirst ? { kind: 'refused', reason: gas.reason } : { kind: 'wait', waiting: 'gas-estimate' }
  }
  building.counted.push(...tried)
  return { kind: 'call', call: { to, data }, gas, counted: tried.at(-1) }
}

async function callOf(building: Building, row: TransactionRow, tried: Counted[]): Promise<Call> {
  if (row.builder === null) return { to: storedAddress(row.to), data: storedHex(row.data) }
  const builder = building.sender.builders[row.builder]
  if (!builder) throw new CannotBuild(`this version knows no builder "${row.builder}"`)
  const args: unknown = JSON.parse(row.args ?? 'null')
  const call = await builder.build(args, contextOf(building, row, tried))
  if ((call.to !== null && !isAddress(call.to)) || !isHex(call.data))
    throw new CannotBuild(`the builder "${row.builder}" made no call`)
  return call
}

const contextOf = (
  { sender, view, counted, reads }: Building,
  { signings }: Pick<TransactionRow, 'signings'>,
  tried: Counted[],
): BuildContext => ({
  chainId: sender.chain.chainId,
  signings,
  from: sender.signer.address,
  blockNumber: view.head.number,
  client: sender.node.client,
  next: async (counter, onChain) => {
    const read = reads.get(counter) ?? onChain()
    reads.set(counter, read)
    const value = predict(await read, counter, counted)
    tried.push({ counter, value })
    return value
  },
})

/** Adds a fifth, because earlier transactions can increase the cost. */
async function estimated(
  { node, signer }: Sender,
  call: { to: Address | null; data: Hex },
): Promise<number | { reason: string }> {
  const gas = await node.estimate({ from: signer.address, ...call })
  return typeof gas === 'bigint' ? Number((gas * 6n) / 5n) : gas
}
