import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TransactionRow } from '../../store/schema.ts'
import { insertAttempt } from '../../store/transactions/attempts.ts'
import { queuedTransactions } from '../../store/transactions/intents.ts'
import { findSender, takeNonces } from '../../store/transactions/senders.ts'
import { cancelQueued, markDoneBefore, markSigned, markWaiting } from '../../store/transactions/states.ts'
import { type Building, type Built, buildCall } from './build-call.ts'
import { LeaseHeld } from './errors.ts'
import { firstFees } from './fees.ts'
import type { Past } from './restored.ts'
import { idOf, marketOf, ofSigner, type Sender, type View, writeAsHolder } from './sender.ts'
import { signAttempt } from './sign-attempt.ts'

export interface Signed {
  changed: boolean
  waitingForFees: boolean
}

type Signing = Extract<Built, { kind: 'call' }> & {
  row: TransactionRow
  attempt: Awaited<ReturnType<typeof signAttempt>>
}

const doneBefore = 'it was sent between the backup and the restore'

/** An intent was canceled during signing: the whole batch is rolled back, and nothing was sent. */
class Raced extends Error {}

/**
 * Issues nonces to the oldest intents, signs them, and stores the bytes in one write, so that a nonce and its
 * transaction always exist together. Signing happens before the write, because writes must not wait; the write
 * then takes the nonces if they are still free.
 */
export async function signQueued(sender: Sender, view: View): Promise<Signed> {
  const room = sender.pace.maxInFlight - (view.next - view.used)
  const queue =
    room <= 0 ? [] : await queuedTransactions(sender.db.read, { ...ofSigner(sender), limit: room })
  if (queue.length === 0) return { changed: false, waitingForFees: false }
  const fees = firstFees(await marketOf(sender, view.head))
  if (!fees) return { changed: await wait(sender, queue, 'fees'), waitingForFees: true }

  const building: Building = { sender, view, counted: countersUnderWay(view), reads: new Map() }
  const signings: Signing[] = []
  const refused: { row: TransactionRow; reason: string }[] = []
  const done: { row: TransactionRow; by: DoneBefore['by'] }[] = []
  const waiting: { row: TransactionRow; waiting: TransactionRow['waiting'] }[] = []
  for (const [index, row] of queue.entries()) {
    const nonce = view.next + signings.length
    const built = await buildCall(building, row, { isFirst: nonce === view.used })
    if (built.kind === 'call') {
      const { gas, call } = built
      const attempt = await signAttempt(sender, { purpose: 'effect', nonce, gas, fees, call })
      signings.push({ ...built, row, attempt })
    } else if (built.kind === 'refused') refused.push({ row, reason: built.reason })
    else if (built.kind === 'done') done.push({ row, by: built.by })
    else {
      if (row.waiting !== built.waiting) waiting.push({ row, waiting: built.waiting })
      // It waits for earlier ones: with more behind it, its turn would never come.
      if (built.waiting === 'gas-estimate') break
    }
    // A signature takes about 0.3 ms; other requests may run in between.
    if (index % 8 === 7) await nextTurn()
  }
  if (signings.length + refused.length + done.length + waiting.length === 0)
    return { changed: false, waitingForFees: false }
  try {
    await store(sender, view, { signings, refused, done, waiting })
  } catch (error) {
    if (!(error instanceof Raced)) throw error
    return { changed: true, waitingForFees: false }
  }
  await sender.changed([...signings, ...refused, ...done, ...waiting].map(({ row }) => row.id))
  return { changed: true, waitingForFees: false }
}

type DoneBefore = Extract<Past, { kind: 'done' }>

interface Outcomes {
  signings: readonly Signing[]
  refused: readonly { row: TransactionRow; reason: string }[]
  done: readonly { row: TransactionRow; by: DoneBefore['by'] }[]
  waiting: readonly { row: TransactionRow; waiting: TransactionRow['waiting'] }[]
}

async function store(
  sender: Sender,
  view: View,
  { signings, refused, done, waiting }: Outcomes,
): Promise<void> {
  const { chainId, address } = idOf(sender)
  await writeAsHolder(sender, async (trx, at) => {
    const from = (await findSender(trx, { chainId, address }))?.nextNonce ?? 0
    const to = view.next + signings.length
    // The next nonce is not the one that was signed for: another process wrote here.
    if (from > view.next || !(await takeNonces(trx, { chainId, address, from, to })))
      throw new LeaseHeld(chainId, address)
    for (const { row, attempt, call, counted } of signings) {
      const signed = await markSigned(trx, {
        id: row.id,
        at,
        sender: address,
        nonce: attempt.nonce,
        ...call,
        sequence: counted?.counter ?? null,
        sequenceValue: counted === undefined ? null : String(counted.value),
        firstHash: row.firstHash ?? attempt.hash,
        signings: row.signings + 1,
      })
      if (!signed) throw new Raced()
      await insertAttempt(trx, { ...attempt, transactionId: row.id })
    }
    for (const { row, reason } of refused) {
      if (await cancelQueued(trx, { id: row.id, at, reason }))
        await sender.onSettled(trx, { id: row.id, state: 'cancelled', at })
    }
    for (const { row, by } of done) {
      const { id } = row
      if (await markDoneBefore(trx, { id, at, ...by, reason: doneBefore }))
        await sender.onSettled(trx, { id, state: 'confirmed', at })
    }
    for (const { row, waiting: why } of waiting) await markWaiting(trx, { id: row.id, at, waiting: why })
  })
}

async function wait(sender: Sender, rows: readonly TransactionRow[], waiting: 'fees'): Promise<boolean> {
  const news = rows.filter((row) => row.waiting !== waiting)
  if (news.length === 0) return false
  await writeAsHolder(sender, async (trx, at) => {
    for (const { id } of news) await markWaiting(trx, { id, at, waiting })
  })
  return true
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
