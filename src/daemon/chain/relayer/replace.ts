import { insertAttempts, type NewAttempt } from '../../store/chain/intents.ts'
import { abandon, markWaiting } from '../../store/chain/states.ts'
import type { TransactionAttemptRow, TransactionRow } from '../../store/schema/schema.ts'
import { SignerProblem } from '../keys/transaction-signer.ts'
import { type Fees, firstFees, type Market, replacementFees } from './fees.ts'
import { withinLimit } from './gas.ts'
import type { SendOutcome } from './send-outcome.ts'
import { isTooEarly, marketOf, retryLater, type Sender, type View, writeAsHolder } from './sender.ts'
import { emptyCall, feesOf, signAttempt } from './sign-attempt.ts'
import { storedAddress, storedHex } from './transaction.ts'

export interface ReplaceResult {
  changed: boolean
  /** True if a transaction is stuck because the chain's fees exceed the cap. */
  waitingForFees: boolean
  problem?: SignerProblem | undefined
}

/** An attempt that must be replaced. */
interface Replacement {
  row: TransactionRow
  last: TransactionAttemptRow
  purpose: 'effect' | 'filler'
  why: 'cancelled' | 'stuck' | 'price' | 'gas' | 'type'
}

type Outcome =
  | { kind: 'attempt'; attempt: NewAttempt }
  | { kind: 'waits'; waiting: 'fees' | 'gas'; words: string | null }
  | { kind: 'waits'; waiting: 'signer'; words: string; problem: SignerProblem }
  | { kind: 'given-up'; words: string }
  | { kind: 'as-it-is' }

/**
 * Replaces attempts that a node refused for their price or gas, and those of canceled intents, by an empty
 * transaction. Raises fees only at the lowest nonce, because later ones wait for it and not for their fees.
 */
export async function replace(sender: Sender, view: View): Promise<ReplaceResult> {
  const unmined = view.rows.filter((row) => row.state === 'signed' || row.state === 'broadcast')
  const lowest = unmined.find((row) => row.nonce === view.used)
  const replacements = unmined.flatMap((row) => replacementOf(sender, view, row, row === lowest) ?? [])
  const overtaken = lowest && isOvertaken(view, lowest)
  if (replacements.length === 0) return { changed: false, waitingForFees: Boolean(overtaken) }

  const market = await marketOf(sender, view.head)
  const outcomes = await Promise.all(
    replacements.map(async (one) => ({ ...one, outcome: await outcomeOf(sender, view, market, one) })),
  )
  const changed = outcomes.filter(
    ({ row, outcome }) =>
      outcome.kind !== 'as-it-is' && !(outcome.kind === 'waits' && row.waiting === outcome.waiting),
  )
  if (changed.length > 0)
    await writeAsHolder(sender, async (trx, at) => {
      const attempts = changed.flatMap(({ outcome }) => (outcome.kind === 'attempt' ? [outcome.attempt] : []))
      await insertAttempts(trx, attempts)
      for (const { row, outcome } of changed) {
        const { id } = row
        if (outcome.kind === 'attempt') await markWaiting(trx, { id, at, waiting: null })
        if (outcome.kind === 'waits')
          await markWaiting(trx, { id, at, waiting: outcome.waiting, words: outcome.words })
        // It holds a nonce, so a transaction that can never be mined would block all later ones.
        if (outcome.kind === 'given-up') await abandon(trx, { id, at, reason: outcome.words })
      }
    })
  return {
    changed: changed.length > 0,
    waitingForFees: outcomes.some(({ outcome }) => outcome.kind === 'waits' && outcome.waiting === 'fees'),
    problem: outcomes.flatMap(({ outcome }) => ('problem' in outcome ? outcome.problem : []))[0],
  }
}

/** How the replacement has to differ. */
const whyRefused: Partial<Record<SendOutcome, Replacement['why']>> = {
  'tip-too-low': 'price',
  'legacy-only': 'type',
  impossible: 'gas',
  refused: 'gas',
}

function replacementOf(
  sender: Sender,
  view: View,
  row: TransactionRow,
  isLowest: boolean,
): Replacement | undefined {
  const last = view.attempts.get(row.id)?.at(-1)
  if (!last) return undefined
  const isCancelled = row.abandonedBecause !== null && last.purpose === 'effect'
  const outcome = outcomeOfLast(sender, last)
  const refused = outcome && whyRefused[outcome]
  const stuck = isLowest && needsHigherFees(sender, view, last) ? 'stuck' : undefined
  const why = isCancelled ? 'cancelled' : (refused ?? stuck)
  return why && { row, last, purpose: isCancelled ? 'filler' : last.purpose, why }
}

/** Typed transactions begin with the byte of their type (EIP-2718). */
const isLegacy = ({ raw }: TransactionAttemptRow): boolean => !raw.startsWith('0x0')

const outcomeOfLast = ({ memory }: Sender, { id }: { id: number }): SendOutcome | undefined =>
  memory.sent.get(id)?.outcome

async function outcomeOf(
  sender: Sender,
  view: View,
  market: Market,
  replacement: Replacement,
): Promise<Outcome> {
  const { row, last, purpose, why } = replacement
  const words = sender.memory.sent.get(last.id)?.words ?? null
  if (why === 'type' && isLegacy(last)) return { kind: 'as-it-is' }
  const gas =
    why === 'gas' ? await gasAfterRefusal(sender, view, replacement) : await gasOf(sender, replacement)
  if (gas === 'later') return { kind: 'as-it-is' }
  if (gas === 'other reason') {
    const isNever = outcomeOfLast(sender, last) === 'impossible' && purpose === 'effect'
    return isNever ? { kind: 'given-up', words: words ?? 'no node accepts it' } : { kind: 'as-it-is' }
  }
  if (typeof gas === 'object') return { kind: 'waits', waiting: 'gas', words: gas.tooMuch }
  const fees = feesFor(sender, view.attempts.get(row.id) ?? [], market)
  const isSame = fees && why !== 'type' && purpose === last.purpose && gas === last.gas
  if (!fees || (isSame && fees.maxFeePerGas <= BigInt(last.maxFeePerGas)))
    return { kind: 'waits', waiting: 'fees', words }
  const call = { to: storedAddress(row.to), data: storedHex(row.data) }
  const asLegacy = view.head.baseFee === undefined
  const unsigned = { purpose, nonce: last.nonce, gas, fees, isLegacy: asLegacy, call }
  try {
    const signed = await signAttempt(sender, unsigned)
    return { kind: 'attempt', attempt: { ...signed, transactionId: row.id } }
  } catch (error) {
    if (!(error instanceof SignerProblem)) throw error
    return { kind: 'waits', waiting: 'signer', words: error.message, problem: error }
  }
}

/**
 * Fees of a replacement, if a node may have one of the attempts. If every node refused them, ordinary fees are
 * enough.
 */
function feesFor(
  { memory }: Sender,
  attempts: readonly TransactionAttemptRow[],
  market: Market,
): Fees | undefined {
  const isRefused = (outcome: SendOutcome | undefined) =>
    outcome !== undefined && (outcome === 'nonce-too-high' || whyRefused[outcome] !== undefined)
  const there = attempts.filter(
    ({ id, sentAt }) => sentAt !== null || !isRefused(memory.sent.get(id)?.outcome),
  )
  const [highest] = there.map(feesOf).sort((a, b) => (a.maxFeePerGas < b.maxFeePerGas ? 1 : -1))
  if (highest === undefined) return firstFees(market)
  // No node is known to have it, so a replacement may have the same price.
  const isUnsent = there.every(({ sentAt }) => sentAt === null)
  return replacementFees(highest, market) ?? (isUnsent ? highest : undefined)
}

const gasOf = ({ gas }: Sender, { last, purpose }: Replacement): number | Promise<number> =>
  purpose === 'filler' && last.purpose === 'effect' ? gas.limitOfFiller() : last.gas

/** A new estimate shows whether gas was the reason, because nodes word it in many ways. */
async function gasAfterRefusal(
  sender: Sender,
  view: View,
  { row, last, purpose }: Replacement,
): Promise<number | { tooMuch: string } | 'other reason' | 'later'> {
  const { gas, memory } = sender
  if (isTooEarly(sender, view, row)) return 'later'
  retryLater(sender, view, row)
  const call =
    purpose === 'filler' ? emptyCall(sender) : { to: storedAddress(row.to), data: storedHex(row.data) }
  const need = await gas.limitNow(call)
  const words = memory.sent.get(last.id)?.words ?? ''
  const isTooHigh = /block gas limit|gas (limit )?too high|exceeds the configured cap/i.test(words)
  if (typeof need === 'number' && (isTooHigh ? need < last.gas : need > last.gas))
    return withinLimit(sender, row, need)
  if (!/gas/i.test(words) || isTooHigh) return 'other reason'
  // The node may refuse its own estimate.
  const limit = Math.max(sender.chain.maxGas, 2 * (row.gas ?? 0))
  if (last.gas < limit) return Math.min(Math.ceil(last.gas * 1.5), limit)
  // The code of a claim is used up, and the operator can raise its limit.
  return row.builder !== null && purpose === 'effect' ? { tooMuch: words } : 'other reason'
}

/**
 * An attempt that no node accepted is not stuck because of its price. Time alone does not make a transaction stuck
 * either: without a new block, higher fees do not help.
 */
function needsHigherFees(sender: Sender, view: View, last: TransactionAttemptRow): boolean {
  const { memory, clock, timing } = sender
  if (outcomeOfLast(sender, last) === 'underpriced') {
    // Some nodes give this error for any fee.
    const transaction = { id: last.transactionId }
    if (isTooEarly(sender, view, transaction)) return false
    retryLater(sender, view, transaction)
    return true
  }
  if (memory.lowest?.attemptId !== last.id) {
    memory.lowest = { attemptId: last.id, block: view.head.number }
    return false
  }
  const since = memory.sent.get(last.id)?.firstAt ?? clock.monotonic()
  return (
    last.sentAt !== null &&
    clock.monotonic() - since >= timing.replaceMs &&
    view.head.number > memory.lowest.block
  )
}

const isOvertaken = ({ head, attempts }: View, row: TransactionRow): boolean =>
  (head.baseFee ?? 0n) > BigInt(attempts.get(row.id)?.at(-1)?.maxFeePerGas ?? 0)
