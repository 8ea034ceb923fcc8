import { markMembers } from '../../store/chain/groups.ts'
import { isGroup, markAttemptError, markAttemptsTaken } from '../../store/chain/intents.ts'
import { markBroadcast, markWaiting } from '../../store/chain/states.ts'
import type { Queries } from '../../store/database/database.ts'
import type { TransactionAttemptRow, TransactionRow } from '../../store/schema/schema.ts'
import type { SendAnswer, SendOutcome } from './send-outcome.ts'
import { type Sender, type View, writeAsHolder } from './sender.ts'
import { storedHex } from './transaction.ts'

export interface Due {
  row: TransactionRow
  attempt: TransactionAttemptRow
}

type Answer = Due & SendAnswer

export interface SendResult {
  /** An error of the connection or the node that says nothing about the transaction. */
  trouble: string | undefined
  waitingForFunds: boolean
}

/**
 * Sends attempts while later ones are signed, since the node and this process work at the same time. Sending the same
 * bytes twice is harmless, so a missing answer is always followed by resending.
 */
export class AttemptSender {
  readonly #sender: Sender
  readonly #underWay: Promise<unknown>[] = []
  /** For nodes that accept nonces only in order: whether the previous one was accepted. */
  #before: Promise<boolean> = Promise.resolve(true)
  /** Not recorded yet. */
  #news: Answer[] = []
  #trouble: string | undefined
  readonly #poor: Set<number>

  constructor(sender: Sender, view: View) {
    this.#sender = sender
    this.#poor = new Set(view.rows.flatMap(({ id, waiting }) => (waiting === 'funds' ? [id] : [])))
  }

  /** @param attempts in the order of their nonces */
  begin(attempts: readonly Due[]): void {
    const now = this.#sender.clock.monotonic()
    for (const due of attempts) {
      if (this.#sender.memory.isStrict)
        this.#before = this.#before.then((wasAccepted) => wasAccepted && this.#send(due, now))
      this.#underWay.push(this.#sender.memory.isStrict ? this.#before : this.#send(due, now))
    }
  }

  /** Records the answers received so far, as part of a write. @returns what to call once that is committed */
  async record(trx: Queries, at: string): Promise<() => Promise<void>> {
    const answers = [...this.#news]
    await record(trx, answers, at)
    return async () => {
      this.#news = this.#news.filter((answer) => !answers.includes(answer))
      await this.#sender.changed(answers.map(({ row }) => row.id))
    }
  }

  /** Waits for the node's answers without recording them. */
  async answered(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  async end(): Promise<SendResult> {
    await this.answered()
    if (this.#news.length > 0) {
      const recorded = await writeAsHolder(this.#sender, (trx, at) => this.record(trx, at))
      await recorded()
    }
    return { trouble: this.#trouble, waitingForFunds: this.#poor.size > 0 }
  }

  /** @returns whether the node has it */
  async #send({ row, attempt }: Due, now: number): Promise<boolean> {
    const { node, memory, market } = this.#sender
    const answer = { row, attempt, ...(await node.send(storedHex(attempt.raw))) }
    const { outcome, words, minTip } = answer
    const firstAt = memory.sent.get(attempt.id)?.firstAt ?? now
    memory.sent.set(attempt.id, { firstAt, at: now, outcome, words })
    if (outcome === 'unknown' || outcome === 'refused') this.#trouble ??= words ?? undefined
    if (outcome === 'nonce-too-high') memory.isStrict = true
    if (outcome === 'legacy-only') memory.isLegacy = true
    if (outcome === 'tip-too-low') market.onRefused(BigInt(attempt.maxPriorityFeePerGas), minTip)
    if (outcome === 'no-funds') this.#poor.add(row.id)
    else this.#poor.delete(row.id)
    if (isChanged(answer)) this.#news.push(answer)
    return outcome === 'taken' || outcome === 'nonce-used'
  }
}

/** The node would refuse it again if it were resent unchanged. */
const isRefused = (outcome: SendOutcome): boolean =>
  ['impossible', 'refused', 'tip-too-low', 'legacy-only'].includes(outcome)

/** The last attempt of each transaction, resent until a node accepts it and occasionally afterwards. */
export function due({ memory, timing, clock }: Sender, view: View): Due[] {
  const now = clock.monotonic()
  const list: Due[] = []
  for (const row of view.rows) {
    if (row.state === 'mined') continue
    const attempt = view.attempts.get(row.id)?.at(-1)
    // A canceled intent is not sent again: an empty transaction replaces it.
    if (!attempt || (row.abandonedBecause !== null && attempt.purpose === 'effect')) continue
    const last = memory.sent.get(attempt.id)
    const wasAccepted = row.state === 'broadcast' && attempt.sentAt !== null
    const pause = wasAccepted ? timing.resendMs : last && isRefused(last.outcome) ? timing.retryMs : 0
    if (!last || now - last.at >= pause) list.push({ row, attempt })
  }
  return list
}

const isChanged = ({ row, attempt, outcome, words }: Answer): boolean =>
  outcome === 'taken'
    ? row.state === 'signed' || attempt.sentAt === null || attempt.error !== null
    : attempt.error !== words || (waits[outcome] !== undefined && row.waiting === null)

/** The waiting reason of a transaction that a node did not accept. For others, their next tick decides. */
const waits: Partial<Record<SendOutcome, NonNullable<TransactionRow['waiting']>>> = {
  'no-funds': 'funds',
  'below-base-fee': 'fees',
  'tip-too-low': 'fees',
  impossible: 'node',
  'legacy-only': 'node',
  refused: 'node',
  unknown: 'node',
}

/** True if the wait is due to sending, not to the chain's fees. */
const isAboutSending = (waiting: TransactionRow['waiting']): boolean =>
  waiting === 'node' || waiting === 'funds'

async function record(trx: Queries, answers: readonly Answer[], at: string): Promise<void> {
  const accepted = answers.filter(({ outcome }) => outcome === 'taken')
  if (accepted.length > 0) {
    const attempts = accepted.map(({ attempt }) => attempt.id)
    await markAttemptsTaken(trx, attempts, at)
    await markBroadcast(trx, { ids: accepted.map(({ row }) => row.id), at })
  }
  for (const { row } of accepted)
    if (isGroup(row.kind)) await markMembers(trx, { groupId: row.id, at, state: 'broadcast' })
  for (const { row } of accepted)
    if (row.state !== 'signed' && isAboutSending(row.waiting))
      await markWaiting(trx, { id: row.id, at, waiting: null })
  for (const { row, attempt, outcome, words } of answers) {
    if (outcome === 'taken') continue
    await markAttemptError(trx, attempt.id, words ?? outcome)
    const waiting = waits[outcome]
    if (waiting) await markWaiting(trx, { id: row.id, at, waiting, words })
  }
}
