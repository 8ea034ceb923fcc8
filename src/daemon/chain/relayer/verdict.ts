import type { Address, Hex } from 'viem'
import { markMembers, membersOf } from '../../store/chain/groups.ts'
import { isGroup, supersededBy } from '../../store/chain/intents.ts'
import { markConfirmed, markQueuedAgain, markSettled } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { readAt } from './build-call.ts'
import { argsOf } from './build-group.ts'
import { refusalIn } from './contract-call.ts'
import type { Rerun } from './node.ts'
import type { Sender, View } from './sender.ts'
import { storedAddress, storedHex } from './transaction.ts'

/** A change of one transaction, written together with the others of its tick. */
export interface Change {
  id: number
  /** Records the block as well. */
  mines?: true
  write(trx: Queries, at: string): Promise<unknown>
}

type MinedRow = Pick<
  TransactionRow,
  | 'id'
  | 'chainId'
  | 'kind'
  | 'subject'
  | 'minedHash'
  | 'blockHash'
  | 'succeeded'
  | 'blockNumber'
  | 'to'
  | 'data'
  | 'builder'
  | 'args'
  | 'signings'
  | 'sequenceValue'
  | 'signedBlock'
  | 'abandonedBecause'
  | 'topic'
>

/** The result of a transaction that is deep enough. @throws if the chain cannot be read: a later tick asks again */
export async function verdictOn(sender: Sender, view: View, row: MinedRow): Promise<Change[]> {
  const { id } = row
  const end = (state: 'confirmed' | 'reverted' | 'cancelled', reason: string | null): Change[] => [
    { id, write: (trx, at) => settle(sender, trx, row, { id, at, state, reason }) },
  ]
  const attempt = view.attempts.get(id)?.find(({ hash }) => hash === row.minedHash)
  if (attempt?.purpose === 'filler') return end('cancelled', row.abandonedBecause ?? 'given up')
  if (row.succeeded === 1) {
    const missing =
      (await sender.withoutEffect(row, BigInt(view.head.number))) ?? (await missingEffect(sender, view, row))
    if (missing !== undefined) return end('reverted', missing)
    return [confirm(sender, row, await refusedMembers(sender, view, row))]
  }

  // It was given up while pending, so nothing is signed again.
  if (row.abandonedBecause !== null) return end('cancelled', row.abandonedBecause)

  const call = { to: storedAddress(row.to), data: storedHex(row.data) }
  const block = row.blockNumber ?? view.head.number
  const gas = attempt?.gas ?? 0
  const rerun = await sender.node.rerun({ ...call, gas, from: sender.signer.address }, block)
  const copy = await doneBy(sender, row, block)
  if (copy) return end('confirmed', `its effect came by another transaction, ${copy}`)
  const isWorthIt =
    (await mustBeResigned(sender, row, call, rerun)) || (await ranOutOfGas(sender, row, call, gas, rerun))
  if (isWorthIt) return [resign(sender, row, 'reverted')]
  return end(
    'reverted',
    rerun.passes ? 'reverted, although it would succeed by now' : refusalIn(rerun).reason,
  )
}

const builderOf = ({ builders }: Pick<Sender, 'builders'>, { builder }: Pick<MinedRow, 'builder'>) =>
  builder === null ? undefined : builders[builder]

const minedAt = (sender: Sender, view: View, { minedHash, blockHash }: MinedRow) => ({
  hash: storedHex(minedHash),
  blockHash: storedHex(blockHash),
  at: readAt(sender, view),
  client: sender.node.client,
})

const missingEffect = (sender: Sender, view: View, row: MinedRow) =>
  builderOf(sender, row)?.withoutEffect?.(JSON.parse(row.args ?? 'null'), minedAt(sender, view, row))

/** @returns IDs */
async function refusedMembers(sender: Sender, view: View, row: MinedRow): Promise<number[]> {
  const builder = builderOf(sender, row)
  if (!builder?.refusedOf) return []
  const members = await membersOf(sender.db.read, row.id)
  const positions = await builder.refusedOf(members.map(argsOf), minedAt(sender, view, row))
  return members.flatMap(({ id }, at) => (positions.includes(at) ? [id] : []))
}

/** In the same write as its block: if the latest block is final, both are new at once. */
const confirm = (
  sender: Sender,
  { id, kind, minedHash, blockHash, blockNumber }: MinedRow,
  refused: readonly number[],
): Change => ({
  id,
  mines: true,
  write: async (trx, at) => {
    if (await markConfirmed(trx, { id, at, minedHash, blockHash, blockNumber }))
      await sender.onSettled(trx, { id, kind, state: 'confirmed', at, refused })
  },
})

/** Anyone can send a call whose bytes authorize its effect. @returns the transaction that did, if any */
export async function doneBy(
  { builders, node }: Pick<Sender, 'builders' | 'node'>,
  row: Pick<TransactionRow, 'builder' | 'to' | 'data' | 'sequenceValue' | 'signedBlock'>,
  untilBlock: number,
): Promise<Hex | undefined> {
  const builder = builderOf({ builders }, row)
  if (!builder?.doneBy || row.to === null || row.data === null) return undefined
  const call = { to: storedAddress(row.to), data: storedHex(row.data) }
  const counted = row.sequenceValue === null ? undefined : BigInt(row.sequenceValue)
  const { signedBlock } = row
  return builder.doneBy({ ...call, counted, signedBlock, untilBlock, client: node.client })
}

/**
 * Queues it for signing again, unless a later one has the same topic: the last request wins, and a delayed
 * older one must not undo it.
 */
export const resign = (
  sender: Sender,
  row: Pick<TransactionRow, 'id' | 'kind' | 'topic'>,
  otherwise: 'reverted' | 'cancelled',
): Change => ({
  id: row.id,
  write: async (trx, at) => {
    const { id } = row
    const later = await supersededBy(trx, row)
    if (isGroup(row.kind)) await markMembers(trx, { groupId: id, at, state: 'queued' })
    if (later === undefined) return markQueuedAgain(trx, { id, at })
    // It is being canceled but may still take effect, so it waits for the outcome.
    if (later.abandonedBecause !== null && later.settledAt === null) return false
    const reason = `superseded by transaction ${later.id}`
    return settle(sender, trx, row, { id, at, state: otherwise, reason })
  },
})

export async function settle(
  { onSettled }: Pick<Sender, 'onSettled'>,
  trx: Queries,
  { kind }: Pick<TransactionRow, 'kind'>,
  to: Parameters<typeof markSettled>[1],
): Promise<void> {
  if (await markSettled(trx, to)) await onSettled(trx, { ...to, kind })
}

/** Contracts of others may need more gas now than when the call was checked. */
async function ranOutOfGas(
  { node, gas: known, signer, chain }: Sender,
  { builder, signings, blockNumber }: MinedRow,
  call: { to: Address | null; data: Hex },
  gas: number,
  rerun: Rerun,
): Promise<boolean> {
  if (builder === null || rerun.passes || gas >= chain.maxGas || signings >= maxShortOfGas) return false
  const more = { ...call, gas: chain.maxGas, from: signer.address }
  if (!(await node.rerun(more, blockNumber ?? 'latest')).passes) return false
  known.forget(call)
  return true
}

/** A contract may always use slightly more gas than it gets. */
const maxShortOfGas = 3

/** The nonce is used and the effect is absent for good: only then is signing again safe. */
async function mustBeResigned(
  { builders, node, timing }: Sender,
  row: MinedRow,
  call: { to: Address | null; data: Hex },
  rerun: Rerun,
): Promise<boolean> {
  const builder = builderOf({ builders }, row)
  if (!builder?.afterRevert || row.signings >= timing.maxSignings) return false
  const args: unknown = JSON.parse(row.args ?? 'null')
  const counted = row.sequenceValue === null ? undefined : BigInt(row.sequenceValue)
  const blockNumber = row.blockNumber ?? 0
  const { signings } = row
  const reverted = { ...call, counted, blockNumber, rerun, signings, client: node.client }
  return (await builder.afterRevert(args, reverted)) === 'resign'
}
