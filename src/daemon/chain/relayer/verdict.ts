import type { Address, Hex } from 'viem'
import type { Queries } from '../../store/database.ts'
import type { TransactionRow } from '../../store/schema.ts'
import { markQueuedAgain, markSettled } from '../../store/transactions.ts'
import type { Move } from './follow.ts'
import type { Rerun } from './node.ts'
import type { Sender, View } from './sender.ts'
import { storedAddress, storedHex } from './stored-hex.ts'

type MinedRow = Pick<
  TransactionRow,
  | 'id'
  | 'minedHash'
  | 'succeeded'
  | 'blockNumber'
  | 'to'
  | 'data'
  | 'builder'
  | 'args'
  | 'signings'
  | 'sequenceValue'
  | 'abandonedBecause'
>

/** What becomes of a transaction that lies deep enough. Nothing, where its builder cannot say yet. */
export async function verdictOn(sender: Sender, view: View, row: MinedRow): Promise<Move[]> {
  const { id } = row
  const end = (state: 'confirmed' | 'reverted' | 'cancelled', reason: string | null): Move[] => [
    { id, write: (trx, at) => settle(sender, trx, { id, at, state, reason }) },
  ]
  const attempt = view.attempts.get(id)?.find(({ hash }) => hash === row.minedHash)
  if (attempt?.purpose === 'filler') return end('cancelled', row.abandonedBecause ?? 'given up')
  if (row.succeeded === 1) return end('confirmed', null)

  const call = { to: storedAddress(row.to), data: storedHex(row.data) }
  const block = row.blockNumber ?? view.head.number
  const gas = attempt?.gas ?? 0
  const rerun = await sender.node.rerun({ ...call, gas, from: sender.signer.address }, block)
  try {
    if (await isToBeSignedAnew(sender, row, call, rerun))
      return [{ id, write: (trx, at) => markQueuedAgain(trx, { id, at }) }]
  } catch {
    // The builder could not ask the chain. The next tick asks again.
    return []
  }
  return end('reverted', rerun.passes ? 'reverted, and would pass by now' : rerun.reason)
}

/** Ends a transaction's way, with all that belongs to its end. */
export async function settle(
  { onSettled }: Pick<Sender, 'onSettled'>,
  trx: Queries,
  to: Parameters<typeof markSettled>[1],
): Promise<void> {
  if (await markSettled(trx, to)) await onSettled(trx, to)
}

/** The nonce is used up and the effect is absent, for good: here alone is signing anew safe. */
async function isToBeSignedAnew(
  { builders, node, pace }: Sender,
  row: MinedRow,
  call: { to: Address | null; data: Hex },
  rerun: Rerun,
): Promise<boolean> {
  const builder = row.builder === null ? undefined : builders[row.builder]
  if (!builder?.afterRevert || row.signings >= pace.maxSignings) return false
  const args: unknown = JSON.parse(row.args ?? 'null')
  const counted = row.sequenceValue === null ? undefined : BigInt(row.sequenceValue)
  const blockNumber = row.blockNumber ?? 0
  const reverted = { ...call, counted, blockNumber, rerun, client: node.client }
  return (await builder.afterRevert(args, reverted)) === 'sign anew'
}
