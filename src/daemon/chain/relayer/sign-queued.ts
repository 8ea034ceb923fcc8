import { formatGwei } from 'viem'
import { markMembers, releaseMembers } from '../../store/chain/groups.ts'
import { insertAttempts, isGroup } from '../../store/chain/intents.ts'
import { findSender, takeNonces } from '../../store/chain/senders.ts'
import { queuedTransactions } from '../../store/chain/signer-queues.ts'
import { cancelQueued, markDoneBefore, markSigned, markWaiting } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import type { SignerProblem } from '../keys/transaction-signer.ts'
import { type BuiltBatch, buildBatch } from './build-batch.ts'
import { type Building, readCounters } from './build-call.ts'
import { LeaseHeld } from './errors.ts'
import { firstFees } from './fees.ts'
import type { AttemptSender, Due } from './send.ts'
import { idOf, marketOf, ofSigner, type Sender, type View, writeAsHolder } from './sender.ts'
import { leavesToOthers, takeOver } from './take-over.ts'

export interface SignResult {
  /** The number of nonces that were issued. */
  count: number
  waitingForFees: boolean
  /** The remote signer signed no more. */
  problem?: SignerProblem | undefined
}

const doneBefore = 'it was sent between the backup and the restore'

/** An intent was canceled or taken over during signing: its whole batch is rolled back, and nothing of it was sent. */
class CancelledWhileSigning extends Error {}

/** A slow signer must not keep a tick from following what was sent. */
const maxSigningMs = 5000

/** Signed, stored, and sent together: enough to keep the node busy while the next ones are signed. */
const batchSize = 64

/**
 * Issues nonces to the oldest intents, signs them, stores the bytes, and begins to send them, batch after batch. A batch
 * is stored in one write, so that a nonce and its transaction always exist together. Signing happens before the write,
 * because writes must not wait; the write then takes the nonces if they are still free.
 */
export async function signQueued(sender: Sender, view: View, sending: AttemptSender): Promise<SignResult> {
  const room = sender.timing.maxInFlight - (view.next - view.used)
  const queue = await queueOf(sender, room)
  if (queue.length === 0) return { count: 0, waitingForFees: false }
  const market = await marketOf(sender, view.head)
  const fees = firstFees(market)
  if (!fees) {
    const { tip, maxTip } = market
    await wait(
      sender,
      queue,
      'fees',
      tip > maxTip ? `the node takes no tip below ${formatGwei(tip)} gwei` : null,
    )
    return { count: 0, waitingForFees: true }
  }
  const building: Building = {
    sender,
    view,
    counted: countersUnderWay(view),
    reads: new Map(),
    args: new Map(),
  }
  readCounters(building, queue)
  let count = 0
  let problem: SignerProblem | undefined
  const until = sender.clock.monotonic() + maxSigningMs
  for (let from = 0; from < queue.length; from += batchSize) {
    const first = view.next + count
    const batch = await buildBatch(building, queue.slice(from, from + batchSize), { first, fees, until })
    const due = await store(sender, { first, block: view.head.number }, batch, sending)
    // The counters of later ones were predicted from this one.
    if (!due) break
    sending.begin(due)
    count += due.length
    const { unsigned } = batch
    problem = unsigned?.problem
    if (unsigned)
      await wait(
        sender,
        queue.filter(({ id }) => id >= unsigned.firstId),
        'signer',
        unsigned.problem.message,
      )
    if (batch.isBlocked) break
  }
  return { count, waitingForFees: false, problem }
}

async function queueOf(sender: Sender, room: number): Promise<TransactionRow[]> {
  if (room <= 0) return []
  const read = () => queuedTransactions(sender.db.read, { ...ofSigner(sender), limit: room })
  const own = await read()
  if (await leavesToOthers(sender)) return own.filter(({ candidates }) => candidates === null)
  if (own.length >= room) return own
  return (await takeOver(sender, room - own.length)) ? read() : own
}

/** The first nonce, and the latest block. */
interface Start {
  first: number
  block: number
}

/** Also records the node's answers so far. @returns what to send; undefined if it was rolled back */
async function store(
  sender: Sender,
  { first, block }: Start,
  batch: BuiltBatch,
  sending: AttemptSender,
): Promise<Due[] | undefined> {
  const { signings, refused, done, released, waiting } = batch
  const changed = [...signings, ...refused, ...done, ...released, ...waiting].map(({ row }) => row.id)
  if (changed.length === 0) return []
  try {
    const { due, recorded } = await writeAsHolder(sender, async (trx, at) => {
      const recorded = await sending.record(trx, at)
      return { recorded, due: await storeBatch(sender, trx, at, { first, block }, batch) }
    })
    await recorded()
    await sender.changed(changed)
    return due
  } catch (error) {
    if (error instanceof CancelledWhileSigning) return undefined
    throw error
  }
}

async function storeBatch(
  sender: Sender,
  trx: Queries,
  at: string,
  { first, block }: Start,
  { signings, refused, done, released, waiting }: BuiltBatch,
): Promise<Due[]> {
  const { chainId, address } = idOf(sender)
  const from = (await findSender(trx, { chainId, address }))?.nextNonce ?? 0
  const to = first + signings.length
  // The next nonce is not the one that was signed for: another process wrote here.
  if (from > first || !(await takeNonces(trx, { chainId, address, from, to })))
    throw new LeaseHeld(chainId, address)
  for (const { row, attempt, call, counted, members } of signings) {
    const firstHash = row.firstHash ?? attempt.hash
    const signed = await markSigned(trx, {
      id: row.id,
      at,
      signer: sender.name,
      sender: address,
      nonce: attempt.nonce,
      ...call,
      sequence: counted?.counter ?? null,
      sequenceValue: counted === undefined ? null : String(counted.value),
      firstHash,
      signings: row.signings + 1,
      signedBlock: block,
    })
    if (!signed) throw new CancelledWhileSigning()
    const isGroup = members !== undefined
    if (isGroup && (await markMembers(trx, { groupId: row.id, at, state: 'signed', firstHash })) !== members)
      throw new CancelledWhileSigning()
  }
  const attempts = signings.map(({ attempt, row }) => ({ ...attempt, transactionId: row.id }))
  const inserted = await insertAttempts(trx, attempts)
  for (const { row, ids } of released) await releaseMembers(trx, { groupId: row.id, at, ids })
  for (const { row, reason } of refused) {
    const { id, kind } = row
    if (await cancelQueued(trx, { id, at, reason }))
      await sender.onSettled(trx, { id, kind, state: 'cancelled', at })
  }
  for (const { row, by } of done) {
    const { id, kind } = row
    const reason = row.isRestored === 1 ? doneBefore : 'its effect came by another transaction'
    if (await markDoneBefore(trx, { id, at, ...by, reason }))
      await sender.onSettled(trx, { id, kind, state: 'confirmed', at })
  }
  for (const { row, waiting: why, words } of waiting)
    await markQueuedWaiting(trx, row, { at, waiting: why, words })
  const ids = new Map(inserted.map(({ transactionId, id }) => [transactionId, id]))
  return signings.flatMap(({ row, attempt }) => {
    const id = ids.get(row.id)
    if (id === undefined) return []
    const stored = { ...attempt, id, transactionId: row.id, sentAt: null, error: null }
    return [{ attempt: stored, row: { ...row, state: 'signed' as const, waiting: null } }]
  })
}

async function wait(
  sender: Sender,
  rows: readonly TransactionRow[],
  waiting: 'fees' | 'signer',
  words: string | null,
): Promise<void> {
  const changed = rows.filter((row) => row.waiting !== waiting || row.waitingWords !== words)
  if (changed.length === 0) return
  await writeAsHolder(sender, async (trx, at) => {
    for (const row of changed) await markQueuedWaiting(trx, row, { at, waiting, words })
  })
}

/** With the members of a group. */
async function markQueuedWaiting(
  trx: Queries,
  { id, kind }: TransactionRow,
  why: { at: string; waiting: TransactionRow['waiting']; words: string | null },
): Promise<void> {
  await markWaiting(trx, { id, ...why })
  if (isGroup(kind)) await markMembers(trx, { groupId: id, state: 'queued', ...why })
}

/** Pending transactions that may still advance a counter. Failed ones, and those being filled, do not. */
const countersUnderWay = (view: View) =>
  view.rows.flatMap(({ sequence, sequenceValue, state, succeeded, abandonedBecause }) =>
    sequence === null ||
    sequenceValue === null ||
    abandonedBecause !== null ||
    (state === 'mined' && succeeded === 0)
      ? []
      : [{ counter: sequence, value: BigInt(sequenceValue) }],
  )
