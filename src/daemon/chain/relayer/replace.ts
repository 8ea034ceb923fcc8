import type { TransactionAttemptRow, TransactionRow } from '../../store/schema.ts'
import { insertAttempts, type NewAttempt } from '../../store/transactions/attempts.ts'
import { markWaiting } from '../../store/transactions/states.ts'
import { type Market, replacementFees } from './fees.ts'
import { marketOf, type Sender, type View, writeAsHolder } from './sender.ts'
import { feesOf, fillerGas, signAttempt } from './sign-attempt.ts'
import { storedAddress, storedHex } from './transaction.ts'

export interface Replaced {
  changed: boolean
  /** True if a transaction is stuck because the chain's fees exceed the cap. */
  waitingForFees: boolean
}

/**
 * Replaces attempts: with higher fees only at the lowest nonce, because later ones wait for it and not for
 * their fees; with an empty transaction where an intent was given up.
 */
export async function replace(sender: Sender, view: View): Promise<Replaced> {
  const unmined = view.rows.filter((row) => row.state === 'signed' || row.state === 'broadcast')
  const lowest = unmined.find((row) => row.nonce === view.used)
  const wanted: { row: TransactionRow; last: TransactionAttemptRow; purpose: 'effect' | 'filler' }[] = []
  for (const row of unmined) {
    const last = view.attempts.get(row.id)?.at(-1)
    if (!last) continue
    const toBeFilled = row.abandonedBecause !== null && last.purpose === 'effect'
    const purpose = toBeFilled ? 'filler' : last.purpose
    if (toBeFilled || (row === lowest && isStuck(sender, view, last))) wanted.push({ row, last, purpose })
  }
  const overtaken = lowest && isOvertaken(view, lowest)
  if (wanted.length === 0) return { changed: false, waitingForFees: Boolean(overtaken) }

  const market = await marketOf(sender, view.head)
  const attempts: NewAttempt[] = []
  const tooDear: TransactionRow[] = []
  for (const { row, last, purpose } of wanted) {
    const attempt = await replacement(sender, market, row, last, purpose)
    if (attempt) attempts.push({ ...attempt, transactionId: row.id })
    else if (row.waiting !== 'fees') tooDear.push(row)
  }
  const changed = attempts.length + tooDear.length > 0
  if (changed) {
    await writeAsHolder(sender, async (trx, at) => {
      await insertAttempts(trx, attempts)
      for (const { transactionId: id } of attempts) await markWaiting(trx, { id, at, waiting: null })
      for (const { id } of tooDear) await markWaiting(trx, { id, at, waiting: 'fees' })
    })
  }
  return { changed, waitingForFees: attempts.length < wanted.length }
}

async function replacement(
  sender: Sender,
  market: Market,
  row: TransactionRow,
  last: TransactionAttemptRow,
  purpose: 'effect' | 'filler',
) {
  // No node has it, so an empty transaction can take its place at the same price.
  const fees = replacementFees(feesOf(last), market) ?? (last.sentAt === null ? feesOf(last) : undefined)
  if (!fees || (last.purpose === purpose && fees.maxFeePerGas <= BigInt(last.maxFeePerGas))) return undefined
  const call = { to: storedAddress(row.to), data: storedHex(row.data) }
  const gas = purpose === 'filler' ? fillerGas : last.gas
  return signAttempt(sender, { purpose, nonce: last.nonce, gas, fees, call })
}

/** Time alone does not make a transaction stuck: without a new block, higher fees do not help. */
function isStuck({ memory, clock, pace }: Sender, view: View, last: TransactionAttemptRow): boolean {
  if (memory.sent.get(last.id)?.outcome === 'underpriced') return true
  if (memory.lowest?.attemptId !== last.id) {
    memory.lowest = { attemptId: last.id, block: view.head.number }
    return false
  }
  const since = memory.sent.get(last.id)?.firstAt ?? clock.monotonic()
  return clock.monotonic() - since >= pace.replaceMs && view.head.number > memory.lowest.block
}

const isOvertaken = (view: View, row: TransactionRow): boolean =>
  view.head.baseFee > BigInt(view.attempts.get(row.id)?.at(-1)?.maxFeePerGas ?? 0)
