import { setImmediate as nextTurn } from 'node:timers/promises'
import { isGroup } from '../../store/chain/intents.ts'
import type { TransactionRow } from '../../store/schema/schema.ts'
import { SignerProblem } from '../keys/transaction-signer.ts'
import { type Building, type BuildResult, buildCall, type PriorOutcome } from './build-call.ts'
import { buildGroup } from './build-group.ts'
import type { Fees } from './fees.ts'
import { signAttempt } from './sign-attempt.ts'

/** Signed at the same time, which hides the latency of a remote signer. */
const signedTogether = 8
type Signing = Extract<BuildResult, { kind: 'call' }> & {
  row: TransactionRow
  attempt: Awaited<ReturnType<typeof signAttempt>>
}

type DoneBefore = Extract<PriorOutcome, { kind: 'done' }>

export interface BuiltBatch {
  signings: Signing[]
  refused: { row: TransactionRow; reason: string }[]
  done: { row: TransactionRow; by: DoneBefore['by'] }[]
  released: { row: TransactionRow; ids: readonly number[] }[]
  waiting: { row: TransactionRow; waiting: TransactionRow['waiting']; words: string | null }[]
  /**
   * Nothing behind this batch can be signed now: more intents would postpone one that waits for earlier ones forever, or
   * the signer is slow or does not sign.
   */
  isBlocked: boolean
  /** What the signer did not sign, and all behind it. */
  unsigned?: { firstId: number; problem: SignerProblem }
}

interface BatchTerms {
  /** The nonce of the first that is signed. */
  first: number
  fees: Fees
  /** No more is signed after this time (monotonic). */
  until: number
}

export async function buildBatch(
  building: Building,
  rows: readonly TransactionRow[],
  { first, fees, until }: BatchTerms,
): Promise<BuiltBatch> {
  const { sender, view } = building
  const isLegacy = view.head.baseFee === undefined
  const none = { signings: [], refused: [], done: [], released: [], waiting: [] }
  const batch: BuiltBatch = { ...none, isBlocked: false }
  const attempts: Promise<Signing | Unsigned>[] = []
  for (const [index, row] of rows.entries()) {
    const nonce = first + attempts.length
    const isFirst = nonce === view.used
    const built = isGroup(row.kind)
      ? await buildGroup(building, row)
      : await buildCall(building, row, { isFirst })
    if (built.kind === 'call') {
      const { gas, call } = built
      const attempt = signAttempt(sender, { purpose: 'effect', nonce, gas, fees, isLegacy, call })
      const signing = attempt.then((signed) => ({ ...built, row, attempt: signed })).catch(asUnsigned(row))
      // It is awaited only after the next call is built.
      signing.catch(() => undefined)
      attempts.push(signing)
    } else if (built.kind === 'refused') batch.refused.push({ row, reason: built.reason })
    else if (built.kind === 'later') continue
    else if (built.kind === 'released') batch.released.push({ row, ids: built.ids })
    else if (built.kind === 'done') batch.done.push({ row, by: built.by })
    else {
      const { words } = built
      const waiting = built.waiting === 'turn' ? 'gas-estimate' : built.waiting
      if (row.waiting !== waiting || row.waitingWords !== words) batch.waiting.push({ row, waiting, words })
      batch.isBlocked = built.waiting === 'gas-estimate'
      if (batch.isBlocked) break
    }
    if (index % signedTogether < signedTogether - 1) continue
    // A signature takes about 0.3 ms; other requests may run in between.
    await nextTurn()
    const isStopped = (await Promise.all(attempts.slice(-signedTogether))).some(isUnsigned)
    batch.isBlocked = isStopped || sender.clock.monotonic() > until
    if (batch.isBlocked) break
  }
  const signed = await Promise.all(attempts)
  const unsigned = signed.find(isUnsigned)
  if (unsigned === undefined) return { ...batch, signings: signed.filter(isSigned) }
  // Decisions about later intents assumed that this one would be sent.
  const isBefore = ({ row }: { row: TransactionRow }) => row.id < unsigned.firstId
  return {
    signings: signed.filter(isSigned).filter(isBefore),
    refused: batch.refused.filter(isBefore),
    done: batch.done.filter(isBefore),
    released: batch.released.filter(isBefore),
    waiting: batch.waiting.filter(isBefore),
    isBlocked: true,
    unsigned,
  }
}

type Unsigned = NonNullable<BuiltBatch['unsigned']>
const isUnsigned = (one: Signing | Unsigned): one is Unsigned => 'problem' in one
const isSigned = (one: Signing | Unsigned): one is Signing => !isUnsigned(one)

const asUnsigned =
  ({ id }: TransactionRow) =>
  (error: unknown): Unsigned => {
    if (error instanceof SignerProblem) return { firstId: id, problem: error }
    throw error
  }
