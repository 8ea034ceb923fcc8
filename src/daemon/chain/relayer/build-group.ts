import { isOpen, membersOf } from '../../store/chain/groups.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { messageOf } from '../node-answer.ts'
import { type Building, type BuildResult, contextOf } from './build-call.ts'
import { CannotBuild } from './errors.ts'
import { withMargin } from './gas.ts'
import { isTooEarly, retryLater } from './sender.ts'

/** Blocks are shared with others, so a group takes at most this part of one. */
const partOfBlock = 10

/** How long members may join. */
const openForMs = 5_000

/**
 * Builds the call of a group, which either brings about all of its members or none. Members whose own call would fail,
 * or that need too much gas, are released, and the others are built again.
 */
export async function buildGroup(building: Building, row: TransactionRow): Promise<BuildResult> {
  const { sender, view } = building
  // It may have been sent since the backup; each member looks for its own effect.
  if (row.isRestored === 1) return { kind: 'refused', reason: 'a backup was restored' }
  const age = sender.clock.now() - Date.parse(row.createdAt)
  if (isOpen(row) && age >= 0 && age < openForMs) return { kind: 'later' }
  if (row.waiting === 'builder' && isTooEarly(sender, view, row))
    return { kind: 'wait', waiting: 'builder', words: row.waitingWords }
  const members = await membersOf(sender.db.read, row.id)
  if (members.length < 2) return { kind: 'refused', reason: 'its transactions are sent one by one' }
  const builder = sender.builders[row.builder ?? '']
  const callOf = async (some: readonly TransactionRow[]) => {
    if (!builder) throw new CannotBuild(`this version knows no builder "${row.builder}"`)
    const { to, data } = await builder.build(some.map(argsOf), contextOf(building, row, 0n))
    return { to, data }
  }
  try {
    // Only a recipient's contract can refuse a call that passed its trial run.
    const suspects = row.signings === 0 ? [] : await withReceiver(building, members)
    if (suspects.length > 0) return { kind: 'released', ids: suspects }
    const call = await callOf(members)
    const gas = await sender.gas.limitNow(call)
    const maxGas = withMargin(view.head.gasLimit / partOfBlock)
    if (typeof gas === 'number' && gas <= maxGas)
      return { kind: 'call', call, gas, counted: undefined, members: members.length }
    const alone = await Promise.all(
      members.map(async (member) => ({
        id: member.id,
        gas: await sender.gas.limitNow(await callOf([member])),
      })),
    )
    // If all of them together need too much, at least one needs more than its share.
    const share = typeof gas === 'number' ? maxGas / members.length : maxGas
    const ids = alone.filter((one) => typeof one.gas !== 'number' || one.gas > share).map(({ id }) => id)
    // They only fail together, so each one tells why alone.
    return { kind: 'released', ids: ids.length > 0 ? ids : members.map(({ id }) => id) }
  } catch (error) {
    if (error instanceof CannotBuild) return { kind: 'refused', reason: error.message }
    retryLater(sender, view, row)
    return { kind: 'wait', waiting: 'builder', words: messageOf(error) }
  }
}

/** What a group's builder takes for a member: its arguments, or its call if that was recorded. */
export const argsOf = ({ builder, args, to, data }: TransactionRow): unknown =>
  builder === null ? { to, data } : JSON.parse(args ?? 'null')

async function withReceiver({ sender }: Building, members: readonly TransactionRow[]): Promise<number[]> {
  const checked = await Promise.all(
    members.map(async ({ id, builder, args }) => {
      const isUpToReceiver = sender.builders[builder ?? '']?.isUpToReceiver
      return (await isUpToReceiver?.(JSON.parse(args ?? 'null'), sender.node.client)) === true ? [id] : []
    }),
  )
  return checked.flat()
}
